#include "../survey_c.h"
#define N SIZE(1000, 20)
static void attractions(real *restrict y, const real *restrict p, const real *restrict m)
{
    for (int i = 0; i < N; i++) {
        real a = 0, b = 0, c = 0;
        for (int j = 0; j < N; j++) {
            real d = p[3 * j] - p[3 * i], e = p[3 * j + 1] - p[3 * i + 1], f = p[3 * j + 2] - p[3 * i + 2];
            real r = d * d + e * e + f * f + (real)0.01, w = m[j] / (r * SQRT(r));
            a += d * w, b += e * w, c += f * w;
        }
        y[3 * i] = a, y[3 * i + 1] = b, y[3 * i + 2] = c;
    }
}
int main(void)
{
    real *p = memory(3 * N, sizeof(real)), *m = memory(N, sizeof(real)), *y = memory(3 * N, sizeof(real));
    for (long i = 0; i < 3 * N; i++) p[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < N; i++) m[i] = datum(i, 104729) + 0.5;
    MEASURE(attractions(y, p, m));
    report(checksum(y, 3 * N));
}
