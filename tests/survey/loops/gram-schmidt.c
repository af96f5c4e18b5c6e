#include "../survey_c.h"
#include <string.h>
#define M SIZE(160, 14)
#define N SIZE(120, 8)
/* By rows: all columns behind column k at a time. */
static void factors(real *q, const real *a)
{
    real *r = q + M * N;
    memcpy(q, a, M * N * sizeof(real));
    memset(r, 0, N * N * sizeof(real));
    for (int k = 0; k < N; k++) {
        real s = 0;
        for (int i = 0; i < M; i++) s += q[i * N + k] * q[i * N + k];
        r[k * N + k] = SQRT(s);
        for (int i = 0; i < M; i++) q[i * N + k] /= r[k * N + k];
        for (int i = 0; i < M; i++)
            for (int j = k + 1; j < N; j++) r[k * N + j] += q[i * N + k] * q[i * N + j];
        for (int i = 0; i < M; i++)
            for (int j = k + 1; j < N; j++) q[i * N + j] -= q[i * N + k] * r[k * N + j];
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *q = memory((M + N) * N, sizeof(real));
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) a[i * N + j] = datum(i * i * 31 + i * j * 17 + j * j * j * 7, 7919) - 0.5;
    MEASURE(factors(q, a));
    report(checksum(q, (M + N) * N));
}
