#include "../survey_c.h"
#include <string.h>
#define N SIZE(100000, 50)
#define MOST_ROUNDS SIZE(100, 10)
static real *settled(real *a, real *b, const real *u, const real *restrict f, int n)
{
    real change = 1;
    memcpy(a, u, n * sizeof(real));
    for (int k = 0; k < MOST_ROUNDS && change > (real)0.000001; k++) {
        real *restrict from = a, *restrict to = b;
        to[0] = from[0], to[n - 1] = from[n - 1];
        change = 0;
        for (int i = 1; i < n - 1; i++) {
            to[i] = (real)0.25 * (from[i - 1] + from[i + 1] + f[i]);
            real d = fabs(to[i] - from[i]);
            change = d > change ? d : change;
        }
        a = to, b = from;
    }
    return a;
}
int main(void)
{
    real *u = memory(N, sizeof(real)), *f = memory(N, sizeof(real)), *a = memory(N, sizeof(real)), *b = memory(N, sizeof(real)), *y;
    for (long i = 0; i < N; i++) u[i] = 0, f[i] = datum(i, 7919) - 0.5;
    MEASURE(y = settled(a, b, u, f, N));
    report(checksum(y, N));
}
