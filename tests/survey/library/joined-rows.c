#include "../survey_c.h"
#include <string.h>
#define N SIZE(20000, 20)
static void rows(real *y, const real *x, const real *g)
{
    for (int i = 0; i < N; i++) {
        y[33 * i] = x[i];
        memcpy(y + 33 * i + 1, g + 32 * i, 32 * sizeof(real));
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *g = memory(32 * N, sizeof(real)), *y = memory(33 * N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < 32 * N; i++) g[i] = datum(i, 104729) - 0.5;
    MEASURE(rows(y, x, g));
    report(checksum(y, 33 * N));
}
