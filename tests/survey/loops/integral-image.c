#include "../survey_c.h"
#define M SIZE(600, 20)
#define N SIZE(600, 20)
static void integral(real *y, const real *a)
{
    for (int i = 0; i < M; i++) {
        real s = 0;
        for (int j = 0; j < N; j++) y[i * N + j] = s += a[i * N + j];
    }
    for (int i = 1; i < M; i++)
        for (int j = 0; j < N; j++) y[i * N + j] += y[(i - 1) * N + j];
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *y = memory(M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(integral(y, a));
    report(checksum(y, M * N));
}
