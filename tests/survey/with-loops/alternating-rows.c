#include "../survey_c.h"
#define M SIZE(5000, 12)
#define N SIZE(120, 10)
static void alternate(real *restrict y, const real *a, const real *b, const real *w)
{
    for (int i = 0; i < 2 * M; i++) {
        const real *row = i % 2 == 0 ? a + i / 2 * N : b + (M - 1 - i / 2) * N;
        for (int j = 0; j < N; j++) y[i * N + j] = w[i] * row[j];
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *b = memory(M * N, sizeof(real)), *w = memory(2 * M, sizeof(real)), *y = memory(2 * M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) - 0.5, b[i] = datum(i, 7907) - 0.5;
    for (long i = 0; i < 2 * M; i++) w[i] = datum(i, 7901) - 0.5;
    MEASURE(alternate(y, a, b, w));
    report(checksum(y, 2 * M * N));
}
