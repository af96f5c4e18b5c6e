#include "../survey_c.h"
#define N SIZE(2000, 10)
#define STEPS SIZE(40, 6)
static inline void slope(real *d, const real *s)
{
    real r = s[0] * s[0] + s[1] * s[1] + (real)0.1, w = 1 / (r * SQRT(r));
    d[0] = s[2], d[1] = s[3], d[2] = -w * s[0], d[3] = -w * s[1];
}
static void orbits(real *restrict y, const real *restrict x, real dt)
{
    for (int i = 0; i < N; i++) {
        real s[4], m[4], d[4];
        for (int k = 0; k < 4; k++) s[k] = x[4 * i + k];
        for (int t = 0; t < STEPS; t++) {
            slope(d, s);
            for (int k = 0; k < 4; k++) m[k] = s[k] + dt / 2 * d[k];
            slope(d, m);
            for (int k = 0; k < 4; k++) s[k] += dt * d[k];
        }
        for (int k = 0; k < 4; k++) y[4 * i + k] = s[k];
    }
}
int main(void)
{
    real *s = memory(4 * N, sizeof(real)), *y = memory(4 * N, sizeof(real));
    for (long i = 0; i < 4 * N; i++) s[i] = datum(i, 7919) - 0.5;
    MEASURE(orbits(y, s, (real)0.01));
    report(checksum(y, 4 * N));
}
