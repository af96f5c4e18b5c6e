#include "../survey_c.h"
#define N SIZE(200000, 50)
#define K 7
static void sums(real *y, const real *a)
{
    for (int i = 0; i < N; i++) {
        real sum = 0;
        for (int j = 0; j < K; j++) sum += a[i * K + j];
        y[i] = sum;
    }
}
int main(void)
{
    real *a = memory(N * K, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N * K; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(sums(y, a));
    report(checksum(y, N));
}
