#include <string.h>
#include "../survey_c.h"
#define N SIZE(65536, 64)
static void transform(real *y, const real *x)
{
    memcpy(y, x, N * sizeof(real));
    for (int s = 1; s < N; s *= 2)
        for (int p = 0; p < N; p += 2 * s)
            for (int q = p; q < p + s; q++) {
                real a = y[q], b = y[q + s];
                y[q] = a + b, y[q + s] = a - b;
            }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(transform(y, x));
    for (long i = 0; i < N; i++) y[i] /= N;
    report(checksum(y, N));
}
