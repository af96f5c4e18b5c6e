#include "../survey_c.h"
#define M SIZE(12000, 12)
#define N SIZE(128, 10)
static void all_gated(real *restrict y, const real *restrict x)
{
    for (int i = 0; i < M; i++) {
        const real *a = x + i * N, *b = a + N / 2;
        for (int j = 0; j < N / 2; j++) y[i * N + j] = b[j];
        for (int j = 0; j < N / 2; j++) y[i * N + N / 2 + j] = a[j] * b[j];
    }
}
int main(void)
{
    real *x = memory(M * N, sizeof(real)), *y = memory(M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(all_gated(y, x));
    report(checksum(y, M * N));
}
