#include "../survey_c.h"
#define N SIZE(700, 14)
#define K 7
#define M (N - K + 1)
static void filter(real *restrict y, real *restrict t, const real *restrict a, const real *w)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            real sum = 0;
            for (int l = 0; l < K; l++) sum += w[l] * a[i * N + j + l];
            t[i * M + j] = sum;
        }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            real sum = 0;
            for (int l = 0; l < K; l++) sum += w[l] * t[(i + l) * M + j];
            y[i * M + j] = sum;
        }
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *t = memory(N * M, sizeof(real)), *y = memory(M * M, sizeof(real)), w[K];
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < K; i++) w[i] = datum(i, 7907) - 0.5;
    MEASURE(filter(y, t, a, w));
    report(checksum(y, M * M));
}
