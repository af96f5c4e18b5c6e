#include "../survey_c.h"
#define N SIZE(400000, 50)
static void signal(real *restrict y, real *restrict s, real *restrict d, const real *restrict x)
{
    s[0] = (real)0.5 * x[0] + (real)0.25 * x[1];
    for (int i = 1; i < N - 1; i++) s[i] = (real)0.25 * x[i - 1] + (real)0.5 * x[i] + (real)0.25 * x[i + 1];
    s[N - 1] = (real)0.25 * x[N - 2] + (real)0.5 * x[N - 1];
    d[0] = s[0], d[1] = s[1];
    for (int i = 2; i < N; i++) d[i] = s[i] - s[i - 2];
    for (int i = 0; i < 5; i++) s[i] = d[i] + (real)0.5 * d[i + N - 5] + (real)0.25 * d[i + 3];
    for (int i = 5; i < N - 3; i++) s[i] = d[i] + (real)0.5 * d[i - 5] + (real)0.25 * d[i + 3];
    for (int i = N - 3; i < N; i++) s[i] = d[i] + (real)0.5 * d[i - 5] + (real)0.25 * d[i + 3 - N];
    for (int i = 0; i < N - 1; i++) y[i] = s[i + 1] - s[i];
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *s = memory(N, sizeof(real)), *d = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(signal(y, s, d, x));
    report(checksum(y, N - 1));
}
