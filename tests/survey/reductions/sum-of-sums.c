#include "../survey_c.h"
#define N SIZE(60000, 10)
#define K 6
static void total(real *restrict r, const real *restrict a, const real *restrict x, const real *restrict y)
{
    real sum = 0;
    for (int p = 0; p < N * K; p++) sum += fabs(x[p] - y[p]);
    r[0] = sum;
    for (int p = 0; p < N; p++) {
        real form = 0;
        for (int i = 0; i < K; i++)
            for (int j = 0; j < K; j++) form += x[p * K + i] * a[i * K + j] * y[p * K + j];
        r[1 + p] = form;
    }
}
int main(void)
{
    real *a = memory(K * K, sizeof(real)), *x = memory(N * K, sizeof(real)), *y = memory(N * K, sizeof(real)), *r = memory(N + 1, sizeof(real));
    for (long i = 0; i < K * K; i++) a[i] = datum(i, 613) - 0.5;
    for (long i = 0; i < N * K; i++) x[i] = datum(i, 7919) - 0.5, y[i] = datum(i, 104729) - 0.5;
    MEASURE(total(r, a, x, y));
    report(checksum(r, N + 1));
}
