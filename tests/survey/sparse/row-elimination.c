#include <string.h>
#include "../survey_c.h"
#define N SIZE(250, 15)
static void factors(real *a, const real *x)
{
    memcpy(a, x, N * N * sizeof(real));
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++)
            if (a[i * N + k] != 0) {
                real f = a[i * N + k] / a[k * N + k];
                a[i * N + k] = f;
                for (int j = k + 1; j < N; j++) a[i * N + j] -= f * a[k * N + j];
            }
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a[i * N + j] = i == j ? 9 : (i + 2 * j) % 3 == 0 ? datum(i * N + j, 7919) - 0.5 : 0;
    MEASURE(factors(y, a));
    report(checksum(y, N * N));
}
