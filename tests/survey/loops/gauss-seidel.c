#include "../survey_c.h"
#include <string.h>
#define N SIZE(160, 12)
#define SWEEPS SIZE(4, 2)
static void relax(real *u, const real *u0, const real *f)
{
    memcpy(u, u0, N * N * sizeof(real));
    for (int t = 0; t < SWEEPS; t++)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                real *at = u + i * N + j;
                *at = (real)0.25 * (at[-N] + at[-1] + at[1] + at[N] - f[i * N + j]);
            }
}
int main(void)
{
    real *u0 = memory(N * N, sizeof(real)), *u = memory(N * N, sizeof(real)), *f = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) u0[i] = datum(i, 7919) - 0.5, f[i] = datum(i, 104729) - 0.5;
    MEASURE(relax(u, u0, f));
    report(checksum(u, N * N));
}
