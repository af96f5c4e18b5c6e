#include "../survey_c.h"
#define N SIZE(1000, 12)
static void areas(real *restrict y, const real *restrict a, int m, int n)
{
    for (int i = 0; i < m; i++) {
        real sum = 0;
        for (int j = 0; j < n; j++) {
            sum += a[i * n + j];
            y[i * n + j] = i ? y[(i - 1) * n + j] + sum : sum;
        }
    }
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(areas(y, a, N, N));
    report(checksum(y, N * N));
}
