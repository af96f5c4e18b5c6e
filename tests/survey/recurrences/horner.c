#include "../survey_c.h"
#define N SIZE(200000, 30)
#define K SIZE(24, 12)
static void horner(real *restrict y, const real *restrict c, const real *restrict x)
{
    for (int i = 0; i < N; i++) {
        real sum = 0;
        for (int j = 0; j < K; j++) sum = sum * x[i] + c[j];
        y[i] = sum;
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *c = memory(K, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < K; i++) c[i] = datum(i + 1, 104729) - 0.5;
    MEASURE(horner(y, c, x));
    report(checksum(y, N));
}
