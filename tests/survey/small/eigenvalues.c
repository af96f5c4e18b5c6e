#include "../survey_c.h"
#define N SIZE(300000, 50)
static void spectra(real *restrict y, const real *restrict m)
{
    for (int i = 0; i < N; i++) {
        real mean = (m[3 * i] + m[3 * i + 2]) / 2, half = (m[3 * i] - m[3 * i + 2]) / 2;
        real radius = SQRT(half * half + m[3 * i + 1] * m[3 * i + 1]);
        y[2 * i] = mean - radius;
        y[2 * i + 1] = mean + radius;
    }
}
int main(void)
{
    real *m = memory(3 * N, sizeof(real)), *y = memory(2 * N, sizeof(real));
    for (long i = 0; i < 3 * N; i++) m[i] = datum(i, 7919) - 0.5;
    MEASURE(spectra(y, m));
    report(checksum(y, 2 * N));
}
