#include "../survey_c.h"
#define N SIZE(50000, 20)
static void cubic_roots(real *restrict y, const real *restrict a)
{
    for (int i = 0; i < N; i++) {
        real x = 1, step = 1;
        while (fabs(step) > (real)0.00001) {
            step = (x * x * x - a[i]) / (3 * x * x);
            x -= step;
        }
        y[i] = x;
    }
}
int main(void)
{
    real *a = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) a[i] = (real)0.6 + (real)(datum(i, 7919) - 0.5);
    MEASURE(cubic_roots(y, a));
    report(checksum(y, N));
}
