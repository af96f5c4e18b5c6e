#include "../survey_c.h"
#define N SIZE(30000, 10)
#define M SIZE(32, 6)
static void all_rotated(real *restrict y, const real *restrict a, const real *restrict c, const real *restrict s)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M / 2; j++) {
            real re = a[i * M + j], im = a[i * M + M / 2 + j];
            y[i * M + j] = c[i] * re - s[i] * im;
            y[i * M + M / 2 + j] = s[i] * re + c[i] * im;
        }
}
int main(void)
{
    real *a = memory(N * M, sizeof(real)), *c = memory(N, sizeof(real)), *s = memory(N, sizeof(real)), *y = memory(N * M, sizeof(real));
    for (long i = 0; i < N * M; i++) a[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < N; i++) c[i] = datum(i, 104729) - 0.5, s[i] = datum(i, 515) - 0.5;
    MEASURE(all_rotated(y, a, c, s));
    report(checksum(y, N * M));
}
