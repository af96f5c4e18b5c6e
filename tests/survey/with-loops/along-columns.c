#include "../survey_c.h"
#define N SIZE(1200, 14)
static void smooth(real *restrict y, const real *restrict a)
{
    for (int j = 0; j < N; j++) y[j] = a[j], y[(N - 1) * N + j] = a[(N - 1) * N + j];
    for (int i = N; i < (N - 1) * N; i++) y[i] = (real)0.25 * (a[i - N] + 2 * a[i] + a[i + N]);
}
static void columns(real *restrict y, real *s, real *t, const real *a)
{
    smooth(s, a);
    smooth(t, s);
    for (int j = 0; j < N; j++) y[j] = 0;
    for (int i = N; i < N * N; i++) y[i] = (t[i] - t[i - N]) / SQRT(1 + t[i] * t[i]);
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *s = memory(N * N, sizeof(real)), *t = memory(N * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(columns(y, s, t, a));
    report(checksum(y, N * N));
}
