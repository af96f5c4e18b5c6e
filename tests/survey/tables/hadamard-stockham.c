#include <string.h>
#include "../survey_c.h"
#define N SIZE(65536, 64)
static void transform(real *y, const real *v)
{
    static real a[N], b[N];
    real *x = a, *z = b;
    memcpy(x, v, sizeof a);
    for (int s = 1; s < N; s *= 2) {
        int h = N / (2 * s);
        for (int p = 0; p < h; p++)
            for (int q = 0; q < s; q++) {
                real c = x[p * s + q], d = x[(h + p) * s + q];
                z[2 * p * s + q] = c + d, z[(2 * p + 1) * s + q] = c - d;
            }
        real *t = x;
        x = z, z = t;
    }
    memcpy(y, x, sizeof a);
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(transform(y, x));
    for (long i = 0; i < N; i++) y[i] /= N;
    report(checksum(y, N));
}
