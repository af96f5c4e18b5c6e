#include "../survey_c.h"
#include <string.h>
#define N SIZE(258, 12)
#define STEPS SIZE(10, 3)
static void solve(real *u, const real *start, const real *f)
{
    memcpy(u, start, N * N * sizeof(real));
    for (int t = 0; t < STEPS; t++)
        for (int color = 0; color < 2; color++)
            for (int i = 1; i < N - 1; i++)
                for (int j = 1 + (i + 1 + color) % 2; j < N - 1; j += 2) {
                    real *at = u + i * N + j;
                    *at = (real)0.25 * (at[-N] + at[N] + at[-1] + at[1] - f[i * N + j]);
                }
}
int main(void)
{
    real *u = memory(N * N, sizeof(real)), *f = memory(N * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) u[i] = datum(i, 7919) - 0.5, f[i] = datum(i, 7907) - 0.5;
    MEASURE(solve(y, u, f));
    report(checksum(y, N * N));
}
