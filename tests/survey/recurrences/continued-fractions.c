#include "../survey_c.h"
#define N SIZE(50000, 20)
static real tangent(real x)
{
    real f = 1, c = 1, d = 0, factor;
    for (int k = 1; k < 30; k++) {
        real b = 2 * k + 1;
        d = 1 / (b - x * x * d);
        c = b - x * x / c;
        factor = c * d;
        f *= factor;
        if (!(fabs(factor - 1) > (real)0.0000001)) break;
    }
    return x / f;
}
static void tangents(real *restrict y, const real *restrict x)
{
    for (int i = 0; i < N; i++) y[i] = tangent(x[i]);
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = (real)(datum(i, 7919) - 0.5) * 2;
    MEASURE(tangents(y, x));
    report(checksum(y, N));
}
