#include "../survey_c.h"
#include <string.h>
#define N SIZE(50000, 2000)
#define M SIZE(3000, 20)
static void added(real *restrict y, const real *restrict x, const real *restrict factor, const int *restrict from, const int *restrict to)
{
    memset(y, 0, N * sizeof(real));
    for (int i = 0; i < M; i++)
        for (int k = from[i]; k < to[i]; k++) y[k + 2] += factor[i] * x[k];
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real)), *factor = memory(M, sizeof(real));
    int *from = memory(M, sizeof(int)), *to = memory(M, sizeof(int));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    for (int i = 0; i < M; i++) factor[i] = datum(i, 104729) - 0.5, from[i] = i * 613 % 1009, to[i] = from[i] + i % 900;
    MEASURE(added(y, x, factor, from, to));
    report(checksum(y, N));
}
