#include "../survey_c.h"
#define N SIZE(50000, 30)
static inline void cross(real *c, const real *a, const real *b)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}
static inline void unit(real *c, const real *a)
{
    real r = SQRT(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + (real)0.01);
    for (int k = 0; k < 3; k++) c[k] = a[k] / r;
}
static void frames(real *restrict y, const real *restrict p, const real *restrict q)
{
    for (int i = 0; i < N; i++) {
        real f[9], c[3];
        unit(f, p + 3 * i);
        cross(c, f, q + 3 * i);
        unit(f + 6, c);
        cross(f + 3, f + 6, f);
        for (int k = 0; k < 9; k++) y[9 * i + k] = f[k];
    }
}
int main(void)
{
    real *p = memory(3 * N, sizeof(real)), *q = memory(3 * N, sizeof(real)), *y = memory(9 * N, sizeof(real));
    for (long i = 0; i < 3 * N; i++) p[i] = datum(i, 7919) - 0.5, q[i] = datum(i, 104729) - 0.5;
    MEASURE(frames(y, p, q));
    report(checksum(y, 9 * N));
}
