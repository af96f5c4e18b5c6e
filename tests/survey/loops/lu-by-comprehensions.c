#include "../survey_c.h"
#include <string.h>
#define N SIZE(180, 10)
static void decompose(real *a, const real *a0)
{
    memcpy(a, a0, N * N * sizeof(real));
    for (int k = 0; k < N - 1; k++) {
        int p = k;
        for (int i = k + 1; i < N; i++)
            if (fabs(a[i * N + k]) > fabs(a[p * N + k])) p = i;
        for (int j = 0; j < N; j++) {
            real t = a[k * N + j];
            a[k * N + j] = a[p * N + j];
            a[p * N + j] = t;
        }
        for (int i = k + 1; i < N; i++) {
            real f = a[i * N + k] /= a[k * N + k];
            for (int j = k + 1; j < N; j++) a[i * N + j] -= f * a[k * N + j];
        }
    }
}
int main(void)
{
    real *a0 = memory(N * N, sizeof(real)), *a = memory(N * N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a0[i * N + j] = datum(i * i * 31 + i * j * 17 + j * j * j * 7, 7919) - 0.5;
    MEASURE(decompose(a, a0));
    report(checksum(a, N * N));
}
