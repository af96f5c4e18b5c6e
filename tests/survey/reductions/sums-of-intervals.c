#include "../survey_c.h"
#define N SIZE(100000, 200)
#define M SIZE(8000, 20)
static void interval_sums(real *restrict y, const real *restrict x, const real *restrict w, const int *restrict from, const int *restrict to)
{
    real most = 0;
    for (int i = 0; i < M; i++) {
        real s = most / 8;
        for (int k = from[i]; k < to[i]; k++) s = s / 2 + x[k] * w[k];
        most = fabs(most) > s ? fabs(most) : s;
        y[i] = s;
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *w = memory(N, sizeof(real)), *y = memory(M, sizeof(real));
    int *from = memory(M, sizeof(int)), *to = memory(M, sizeof(int));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5, w[i] = datum(i, 104729) - 0.5;
    for (int i = 0; i < M; i++) from[i] = i * 613 % 1009 % (N / 2), to[i] = from[i] + i % 60;
    MEASURE(interval_sums(y, x, w, from, to));
    report(checksum(y, M));
}
