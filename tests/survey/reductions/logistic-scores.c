#include "../survey_c.h"
#define M SIZE(40000, 12)
#define N SIZE(32, 20)
static void scores(real *restrict y, const real *restrict a, const real *restrict w, real bias)
{
    for (int i = 0; i < M; i++) {
        real sum = 0;
        for (int j = 0; j < N; j++) sum += a[i * N + j] * w[j];
        y[i] = 1 / (1 + EXP(-bias - sum));
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *w = memory(N, sizeof(real)), *y = memory(M, sizeof(real));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) - 0.5;
    for (long j = 0; j < N; j++) w[j] = datum(j, 104729) - 0.5;
    MEASURE(scores(y, a, w, (real)0.1));
    report(checksum(y, M));
}
