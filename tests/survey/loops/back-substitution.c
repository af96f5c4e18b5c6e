#include "../survey_c.h"
#include <string.h>
#define N SIZE(1000, 20)
static void solve(real *x, const real *u, const real *b)
{
    memcpy(x, b, N * sizeof(real));
    for (int k = N - 1; k >= 0; k--) {
        x[k] /= u[k * N + k];
        for (int i = 0; i < k; i++) x[i] -= x[k] * u[i * N + k];
    }
}
int main(void)
{
    real *u = memory(N * N, sizeof(real)), *b = memory(N, sizeof(real)), *x = memory(N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) u[i * N + j] = i == j ? N : datum(i * N + j, 7919) - 0.5;
    for (long i = 0; i < N; i++) b[i] = datum(i, 104729) - 0.5;
    MEASURE(solve(x, u, b));
    report(checksum(x, N));
}
