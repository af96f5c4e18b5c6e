#include "../survey_c.h"
#include <string.h>
#define N SIZE(160, 12)
static void solve(real *x, real *a, real *b, const real *a0, const real *b0)
{
    memcpy(a, a0, N * N * sizeof(real));
    memcpy(b, b0, N * sizeof(real));
    for (int k = 0; k < N - 1; k++)
        for (int i = k + 1; i < N; i++) {
            real f = a[i * N + k] / a[k * N + k];
            for (int j = k; j < N; j++) a[i * N + j] -= f * a[k * N + j];
            b[i] -= f * b[k];
        }
    for (int i = N - 1; i >= 0; i--) {
        real s = b[i];
        for (int j = i + 1; j < N; j++) s -= a[i * N + j] * x[j];
        x[i] = s / a[i * N + i];
    }
}
int main(void)
{
    real *a0 = memory(N * N, sizeof(real)), *a = memory(N * N, sizeof(real));
    real *b0 = memory(N, sizeof(real)), *b = memory(N, sizeof(real)), *x = memory(N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a0[i * N + j] = datum(i * N + j, 7919) - 0.5 + (i == j ? N : 0);
    for (long i = 0; i < N; i++) b0[i] = datum(i, 104729) - 0.5;
    MEASURE(solve(x, a, b, a0, b0));
    report(checksum(x, N));
}
