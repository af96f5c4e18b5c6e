#include "../survey_c.h"
#define N SIZE(20000, 20)
#define M 12
static void rows(real *restrict y, const real *restrict a)
{
    for (int i = 0; i < N; i++) {
        const real *v = a + M * i;
        real mean = 0, squares = 0;
        for (int j = 0; j < M; j++) mean += v[j];
        mean /= M;
        for (int j = 0; j < M; j++) squares += (v[j] - mean) * (v[j] - mean);
        real deviation = SQRT(squares / M + (real)0.001);
        for (int j = 0; j < M; j++) y[M * i + j] = (v[j] - mean) / deviation;
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *y = memory(M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(rows(y, a));
    report(checksum(y, M * N));
}
