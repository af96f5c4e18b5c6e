#include "../survey_c.h"
#define N SIZE(20000, 5)
#define D SIZE(12, 12)
static void forms(real *y, const real *v, const real *a)
{
    for (int i = 0; i < N; i++) {
        real sum = 0;
        for (int p = 0; p < D; p++)
            for (int q = 0; q < D; q++) sum += v[i * D + p] * a[p * D + q] * v[i * D + q];
        y[i] = sum;
    }
}
int main(void)
{
    real *v = memory(N * D, sizeof(real)), *a = memory(D * D, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N * D; i++) v[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < D * D; i++) a[i] = datum(i, 104729) - 0.5;
    MEASURE(forms(y, v, a));
    report(checksum(y, N));
}
