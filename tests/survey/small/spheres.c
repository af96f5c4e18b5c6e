#include "../survey_c.h"
#define N SIZE(50000, 20)
#define K SIZE(16, 5)
typedef struct { real x, y, z, r; } sphere;
static void depths(real *restrict y, const real *restrict d, const real *restrict c)
{
    sphere s[K];
    for (int i = 0; i < K; i++) s[i] = (sphere){ c[4 * i], c[4 * i + 1], c[4 * i + 2] + 3, (real)0.1 + (real)fabs(c[4 * i + 3]) };
    for (int i = 0; i < N; i++) {
        real least = HUGE_VAL, dx = d[2 * i], dy = d[2 * i + 1], dz = 1;
        for (int j = 0; j < K; j++) {
            real b = dx * s[j].x + dy * s[j].y + dz * s[j].z, a = dx * dx + dy * dy + dz * dz;
            real e = b * b - a * (s[j].x * s[j].x + s[j].y * s[j].y + s[j].z * s[j].z - s[j].r * s[j].r);
            real t = e > 0 ? (b - SQRT(e)) / a : 1000;
            least = t < least ? t : least;
        }
        y[i] = least;
    }
}
int main(void)
{
    real *d = memory(2 * N, sizeof(real)), *c = memory(4 * K, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < 2 * N; i++) d[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < 4 * K; i++) c[i] = datum(i, 104729) - 0.5;
    MEASURE(depths(y, d, c));
    report(checksum(y, N));
}
