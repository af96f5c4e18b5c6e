#include "../survey_c.h"
#define N SIZE(100000, 30)
static real chosen(const real *a, const real *b, int k)
{
    real c[6];
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
    c[3] = a[0] * b[0];
    c[4] = a[1] * b[1] + c[3];
    c[5] = a[2] * b[2] + c[4];
    return c[k] + c[5 - k] * (real)0.5;
}
static void all_chosen(real *restrict y, const real *restrict p, const real *restrict q)
{
    for (int i = 0; i < N; i++) y[i] = chosen(p + 3 * i, q + 3 * i, i % 6);
}
int main(void)
{
    real *p = memory(3 * N, sizeof(real)), *q = memory(3 * N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < 3 * N; i++) p[i] = datum(i, 7919) - 0.5, q[i] = datum(i, 104729) - 0.5;
    MEASURE(all_chosen(y, p, q));
    report(checksum(y, N));
}
