#include "../survey_c.h"
#include <string.h>
#define N SIZE(160, 12)
static void cholesky(real *a, const real *a0)
{
    memcpy(a, a0, N * N * sizeof(real));
    for (int k = 0; k < N; k++) {
        a[k * N + k] = SQRT(a[k * N + k]);
        for (int i = k + 1; i < N; i++) a[i * N + k] /= a[k * N + k];
        for (int i = k + 1; i < N; i++)
            for (int j = k + 1; j <= i; j++) a[i * N + j] -= a[i * N + k] * a[j * N + k];
    }
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++) a[i * N + j] = 0;
}
int main(void)
{
    real *a0 = memory(N * N, sizeof(real)), *a = memory(N * N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a0[i * N + j] = datum(i * j, 7919) - 0.5 + (i == j ? N : 0);
    MEASURE(cholesky(a, a0));
    report(checksum(a, N * N));
}
