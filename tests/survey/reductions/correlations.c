#include "../survey_c.h"
#define T SIZE(200, 10)
#define N SIZE(150, 8)
static void similarities(real *restrict y, const real *restrict x)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) y[i * N + j] = 0;
        for (int k = 0; k < T; k++)
            for (int j = 0; j < N; j++) y[i * N + j] += x[k * N + i] * x[k * N + j];
        for (int j = 0; j < N; j++) y[i * N + j] /= T;
        y[i * N + i] = 1;
    }
}
int main(void)
{
    real *x = memory(T * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < T * N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(similarities(y, x));
    report(checksum(y, N * N));
}
