#include "../survey_c.h"
#include <string.h>
#define N SIZE(10000, 40)
#define STEPS SIZE(60, 4)
static void move(real *z, const real *z0)
{
    memcpy(z, z0, 4 * N * sizeof(real));
    real *restrict x = z, *restrict y = z + N, *restrict u = z + 2 * N, *restrict v = z + 3 * N;
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < N; i++) {
            real r = (real)0.01 / (1 + x[i] * x[i] + y[i] * y[i]);
            u[i] -= x[i] * r;
            v[i] -= y[i] * r;
            x[i] += (real)0.01 * u[i];
            y[i] += (real)0.01 * v[i];
        }
}
int main(void)
{
    real *z0 = memory(4 * N, sizeof(real)), *z = memory(4 * N, sizeof(real));
    long keys[] = {7919, 577, 389, 104729};
    for (int k = 0; k < 4; k++)
        for (long i = 0; i < N; i++) z0[k * N + i] = datum(i, keys[k]) - 0.5;
    MEASURE(move(z, z0));
    report(checksum(z, 4 * N));
}
