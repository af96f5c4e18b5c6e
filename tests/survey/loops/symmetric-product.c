#include "../survey_c.h"
#define N SIZE(200, 12)
#define K SIZE(200, 12)
static void product(real *c, const real *a)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++) {
            real s = 0;
            for (int l = 0; l < K; l++) s += a[i * K + l] * a[j * K + l];
            c[i * N + j] = s;
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) c[j * N + i] = c[i * N + j];
}
int main(void)
{
    real *a = memory(N * K, sizeof(real)), *c = memory(N * N, sizeof(real));
    for (long i = 0; i < N * K; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(product(c, a));
    report(checksum(c, N * N));
}
