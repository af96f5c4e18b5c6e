#include "../survey_c.h"
#include <string.h>
#define N SIZE(131072, 128)
static real *prefix_sums(real *a, real *b, const real *restrict x, int n)
{
    memcpy(a, x, n * sizeof(real));
    for (int d = 1; d < n; d *= 2) {
        real *restrict to = b, *restrict from = a;
        for (int i = 0; i < d; i++) to[i] = from[i];
        for (int i = d; i < n; i++) to[i] = from[i] + from[i - d];
        a = to;
        b = from;
    }
    return a;
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *a = memory(N, sizeof(real)), *b = memory(N, sizeof(real)), *y;
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(y = prefix_sums(a, b, x, N));
    report(checksum(y, N));
}
