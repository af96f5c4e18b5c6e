#include "../survey_c.h"
#define N SIZE(600, 12)
static real unit(real x)
{
    x = x > 0 ? x : 0;
    return x < 1 ? x : 1;
}
static void blend(real *restrict y, const real *restrict a, const real *restrict b, const real *restrict gain, real t)
{
    for (int i = 0; i < N * N; i++)
        for (int c = 0; c < 3; c++) y[3 * i + c] = unit(gain[c] * (a[3 * i + c] + t * (b[3 * i + c] - a[3 * i + c])));
}
int main(void)
{
    real *a = memory(3 * N * N, sizeof(real)), *b = memory(3 * N * N, sizeof(real)), *y = memory(3 * N * N, sizeof(real));
    real gain[3] = {1.5, 0.9, 1.2};
    for (long i = 0; i < 3 * N * N; i++) a[i] = datum(i, 7919), b[i] = datum(i, 7907);
    MEASURE(blend(y, a, b, gain, 0.3));
    report(checksum(y, 3 * N * N));
}
