#include "../survey_c.h"
#include <string.h>
#define M SIZE(1500, 20)
#define N SIZE(300, 10)
/* By rows: all columns at a time. */
static void standardize(real *a, const real *a0)
{
    real mean[N] = {0}, squares[N] = {0};
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) mean[j] += a0[i * N + j];
    for (int j = 0; j < N; j++) mean[j] /= M;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            real d = a[i * N + j] = a0[i * N + j] - mean[j];
            squares[j] += d * d;
        }
    for (int j = 0; j < N; j++) squares[j] = 1 / SQRT(squares[j] / M);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) a[i * N + j] *= squares[j];
}
int main(void)
{
    real *a0 = memory(M * N, sizeof(real)), *a = memory(M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) a0[i] = datum(i, 7919) - 0.5;
    MEASURE(standardize(a, a0));
    report(checksum(a, M * N));
}
