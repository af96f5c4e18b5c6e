#include "../survey_c.h"
#include <string.h>
#define M SIZE(1000, 20)
#define N SIZE(500, 10)
/* By rows, with the factors computed once. */
static void solve(real *x, real *c, const real *low, const real *diag, const real *up, const real *x0)
{
    memcpy(x, x0, M * N * sizeof(real));
    c[0] = up[0] / diag[0];
    for (int j = 0; j < N; j++) x[j] /= diag[0];
    for (int i = 1; i < M; i++) {
        real d = 1 / (diag[i] - low[i] * c[i - 1]);
        c[i] = up[i] * d;
        for (int j = 0; j < N; j++) x[i * N + j] = (x[i * N + j] - low[i] * x[(i - 1) * N + j]) * d;
    }
    for (int i = M - 2; i >= 0; i--)
        for (int j = 0; j < N; j++) x[i * N + j] -= c[i] * x[(i + 1) * N + j];
}
int main(void)
{
    real *low = memory(M, sizeof(real)), *diag = memory(M, sizeof(real)), *up = memory(M, sizeof(real)), *c = memory(M, sizeof(real));
    real *x0 = memory(M * N, sizeof(real)), *x = memory(M * N, sizeof(real));
    for (long i = 0; i < M; i++) low[i] = datum(i, 7919) - 0.5, diag[i] = datum(i, 577) + 1.5, up[i] = datum(i, 104729) - 0.5;
    for (long i = 0; i < M * N; i++) x0[i] = datum(i, 389) - 0.5;
    MEASURE(solve(x, c, low, diag, up, x0));
    report(checksum(x, M * N));
}
