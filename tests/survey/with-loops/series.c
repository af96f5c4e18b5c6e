#include "../survey_c.h"
#define N SIZE(20000, 50)
#define K SIZE(24, 8)
static void values(real *restrict y, const real *restrict c, const real *restrict x)
{
    for (int i = 0; i < N; i++) {
        real u = 0, v = 0;
        for (int j = K - 1; j > 0; j--) {
            real w = 2 * x[i] * u - v + c[j];
            v = u, u = w;
        }
        y[i] = x[i] * u - v + c[0];
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), c[K], *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < K; i++) c[i] = datum(i, 7907) - 0.5;
    MEASURE(values(y, c, x));
    report(checksum(y, N));
}
