#include "../survey_c.h"
#define N SIZE(300000, 50)
static real border(const real *a, const real *x, int i)
{
    real sum = 0;
    for (int k = 0; k < 5; k++) if (i + k - 2 >= 0 && i + k - 2 < N) sum += a[k * N + i] * x[i + k - 2];
    return sum;
}
static void times(real *restrict y, const real *restrict a, const real *restrict x)
{
    for (int i = 0; i < 2; i++) y[i] = border(a, x, i);
    for (int i = 2; i < N - 2; i++) {
        real sum = 0;
        for (int k = 0; k < 5; k++) sum += a[k * N + i] * x[i + k - 2];
        y[i] = sum;
    }
    for (int i = N - 2; i < N; i++) y[i] = border(a, x, i);
}
int main(void)
{
    real *a = memory(5 * N, sizeof(real)), *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < 5 * N; i++) a[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < N; i++) x[i] = datum(i, 104729) - 0.5;
    MEASURE(times(y, a, x));
    report(checksum(y, N));
}
