#include "../survey_c.h"
#define N SIZE(200000, 200)
static void biquad(real *restrict y, const real *restrict x, int n)
{
    y[0] = (real)0.2 * x[0];
    y[1] = (real)0.2 * x[1] + (real)0.3 * x[0] + (real)0.5 * y[0];
    for (int i = 2; i < n; i++)
        y[i] = (real)0.2 * x[i] + (real)0.3 * x[i - 1] + (real)0.1 * x[i - 2] + (real)0.5 * y[i - 1] - (real)0.25 * y[i - 2];
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(biquad(y, x, N));
    report(checksum(y, N));
}
