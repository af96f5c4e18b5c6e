#include <string.h>
#include "../survey_c.h"
#define N SIZE(200, 15)
#define M (N + 1)
static void eliminated(real *a, const real *x)
{
    memcpy(a, x, N * M * sizeof(real));
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++)
            if (a[i * M + k] != 0) {
                real f = a[i * M + k] / a[k * M + k];
                for (int j = 0; j < M; j++) a[i * M + j] -= f * a[k * M + j];
            }
}
int main(void)
{
    real *a = memory(N * M, sizeof(real)), *y = memory(N * M, sizeof(real)), sum = 0;
    for (long i = 0; i < N; i++)
        for (long j = 0; j < M; j++) a[i * M + j] = i == j ? 9 : (i + 2 * j) % 3 == 0 ? datum(i * N + j, 7919) - 0.5 : 0;
    MEASURE(eliminated(y, a));
    for (int i = 0; i < N; i++) sum += y[i * M + N] / y[i * M + i];
    report(sum);
}
