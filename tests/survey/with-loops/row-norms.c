#include "../survey_c.h"
#define M SIZE(1500, 12)
#define N SIZE(2000, 20)
static void normalised(real *restrict y, const real *restrict a)
{
    for (int i = 0; i < M; i++) {
        real sum = 0;
        for (int j = 0; j < N; j++) sum += a[i * N + j] * a[i * N + j];
        real norm = SQRT(sum);
        for (int j = 0; j < N; j++) y[i * N + j] = a[i * N + j] / norm;
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *y = memory(M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(normalised(y, a));
    report(checksum(y, M * N));
}
