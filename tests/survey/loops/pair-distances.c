#include "../survey_c.h"
#define N SIZE(500, 30)
static void distances(real *d, const real *x)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            real p = x[3 * i] - x[3 * j], q = x[3 * i + 1] - x[3 * j + 1], r = x[3 * i + 2] - x[3 * j + 2];
            d[i * N + j] = SQRT(p * p + q * q + r * r);
        }
}
int main(void)
{
    real *x = memory(3 * N, sizeof(real)), *d = memory(N * N, sizeof(real));
    for (long i = 0; i < 3 * N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(distances(d, x));
    report(checksum(d, N * N));
}
