#include "../survey_c.h"
#define CHANNELS SIZE(500, 6)
#define N SIZE(1000, 40)
static void all_smoothed(real *restrict y, const real *restrict x, const real *restrict alpha)
{
    for (int c = 0; c < CHANNELS; c++) {
        real level = x[(long)c * N], a = alpha[c];
        y[(long)c * N] = level;
        for (int i = 1; i < N; i++) y[(long)c * N + i] = level = level + a * (x[(long)c * N + i] - level);
    }
}
int main(void)
{
    long size = (long)CHANNELS * N;
    real *x = memory(size, sizeof(real)), *alpha = memory(CHANNELS, sizeof(real)), *y = memory(size, sizeof(real));
    for (long i = 0; i < size; i++) x[i] = datum(i, 7919) - 0.5;
    for (int i = 0; i < CHANNELS; i++) alpha[i] = (real)1 / (2 + i % 7);
    MEASURE(all_smoothed(y, x, alpha));
    report(checksum(y, size));
}
