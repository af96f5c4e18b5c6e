#include <string.h>
#include "../survey_c.h"
#define N SIZE(1000, 20)
#define M SIZE(200, 10)
static void chained(real *restrict y, const real *restrict a)
{
    memcpy(y, a, N * M * sizeof(real));
    for (int p = 1; p < M; p++)
        for (int i = 0; i < N; i++) y[i * M + p] += (real)0.5 * y[i * M + p - 1];
}
int main(void)
{
    real *a = memory(N * M, sizeof(real)), *y = memory(N * M, sizeof(real));
    for (long i = 0; i < N * M; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(chained(y, a));
    report(checksum(y, N * M));
}
