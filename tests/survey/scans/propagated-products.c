#include "../survey_c.h"
#define N SIZE(200000, 200)
static void values(real *restrict y, const real *restrict x, const real *restrict rate, int n)
{
    real value = 1, factor = 1;
    for (int i = 0; i < n; i++) {
        factor = factor * (1 - rate[i] / 100) + (real)0.004;
        y[i] = value = value * (real)0.5 + factor * x[i];
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *rate = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5, rate[i] = (real)(datum(i, 104729) - 0.5) + (real)0.5;
    MEASURE(values(y, x, rate, N));
    report(checksum(y, N));
}
