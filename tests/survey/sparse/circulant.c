#include "../survey_c.h"
#define N SIZE(500000, 50)
static real wrapped(const real *c, const real *x, int i)
{
    real sum = 0;
    for (int k = 0; k < 5; k++) sum += c[k] * x[(i - 3 * k + 6 + N) % N];
    return sum;
}
static void times(real *restrict y, const real *restrict c, const real *restrict x)
{
    for (int i = 0; i < 6; i++) y[i] = wrapped(c, x, i);
    for (int i = 6; i < N - 6; i++) y[i] = c[0] * x[i + 6] + c[1] * x[i + 3] + c[2] * x[i] + c[3] * x[i - 3] + c[4] * x[i - 6];
    for (int i = N - 6; i < N; i++) y[i] = wrapped(c, x, i);
}
int main(void)
{
    real *c = memory(5, sizeof(real)), *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < 5; i++) c[i] = datum(i, 104729) - 0.5;
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(times(y, c, x));
    report(checksum(y, N));
}
