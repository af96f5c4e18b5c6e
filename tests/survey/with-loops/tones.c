#include "../survey_c.h"
#define N SIZE(800, 12)
static void toned(real *restrict y, const real *restrict a)
{
    for (int i = 0; i < 3 * N * N; i++) y[i] = a[i] * a[i] * (3 - 2 * a[i]) / (1 + (real)0.2 * a[i]);
}
int main(void)
{
    real *a = memory(3 * N * N, sizeof(real)), *y = memory(3 * N * N, sizeof(real));
    for (long i = 0; i < 3 * N * N; i++) a[i] = datum(i, 7919);
    MEASURE(toned(y, a));
    report(checksum(y, 3 * N * N));
}
