#include "../survey_c.h"
#include <string.h>
#define N SIZE(160, 12)
static void cholesky(real *y, real *a, const real *a0)
{
    real c[N];
    memcpy(a, a0, N * N * sizeof(real));
    for (int k = 0; k < N; k++) {
        real r = 1 / SQRT(a[k * N + k]);
        for (int i = k; i < N; i++) c[i] = a[i * N + k] *= r;
        for (int i = k + 1; i < N; i++)
            for (int j = k + 1; j < N; j++) a[i * N + j] -= c[i] * c[j];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) y[i * N + j] = j <= i ? a[i * N + j] : 0;
}
int main(void)
{
    real *a0 = memory(N * N, sizeof(real)), *a = memory(N * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a0[i * N + j] = datum(i * j, 7919) - 0.5 + (i == j ? N : 0);
    MEASURE(cholesky(y, a, a0));
    report(checksum(y, N * N));
}
