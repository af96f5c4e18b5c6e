#include "../survey_c.h"
#include <string.h>
#define M SIZE(800, 20)
#define N SIZE(500, 12)
static void eliminate(real *a, const real *a0, const real *f)
{
    memcpy(a, a0, M * N * sizeof(real));
    for (int j = 0; j < N; j++) a[N + j] -= f[2] * a[j];
    for (int i = 2; i < M; i++)
        for (int j = 0; j < N; j++) a[i * N + j] -= f[2 * i] * a[(i - 1) * N + j] + f[2 * i + 1] * a[(i - 2) * N + j];
}
int main(void)
{
    real *a0 = memory(M * N, sizeof(real)), *a = memory(M * N, sizeof(real)), *f = memory(2 * M, sizeof(real));
    for (long i = 0; i < M * N; i++) a0[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < 2 * M; i++) f[i] = datum(i, 104729) - 0.5;
    MEASURE(eliminate(a, a0, f));
    report(checksum(a, M * N));
}
