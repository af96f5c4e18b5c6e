#include "../survey_c.h"
#define N SIZE(500000, 50)
static void all_newton(real *restrict y, const real *restrict x, const real *restrict c)
{
    for (int i = 0; i < N; i++) {
        real p = 0, q = 0;
        for (int k = 0; k < 8; k++) q = q * x[i] + p, p = p * x[i] + c[k];
        y[i] = x[i] - p / (q * q + 1);
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *c = memory(8, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < 8; i++) c[i] = datum(i, 104729) - 0.5;
    MEASURE(all_newton(y, x, c));
    report(checksum(y, N));
}
