#include "../survey_c.h"
#include <string.h>
#define P SIZE(100000, 40)
#define N SIZE(128, 8)
static void forces(real *restrict y, real *restrict grid, const real *restrict at, const real *restrict mass)
{
    memset(grid, 0, N * N * sizeof(real));
    for (int k = 0; k < P; k++) {
        int i = at[2 * k], j = at[2 * k + 1];
        real v = at[2 * k] - i, u = at[2 * k + 1] - j, *to = grid + i * N + j;
        to[0] += (1 - v) * (1 - u) * mass[k];
        to[1] += (1 - v) * u * mass[k];
        to[N] += v * (1 - u) * mass[k];
        to[N + 1] += v * u * mass[k];
    }
    for (int k = 0; k < P; k++) {
        const real *from = grid + (int)at[2 * k] * N + (int)at[2 * k + 1];
        y[k] = from[N] - from[0];
    }
}
int main(void)
{
    real *at = memory(2 * P, sizeof(real)), *mass = memory(P, sizeof(real)), *y = memory(P, sizeof(real)), *grid = memory(N * N, sizeof(real));
    for (long k = 0; k < 2 * P; k++) at[k] = (real)datum(k, 7919) * (N - 1);
    for (long k = 0; k < P; k++) mass[k] = datum(k, 7907) - 0.5;
    MEASURE(forces(y, grid, at, mass));
    report(checksum(y, P));
}
