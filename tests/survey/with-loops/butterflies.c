#include "../survey_c.h"
#include <string.h>
#define N SIZE(131072, 64)
static void walsh(real *restrict y, const real *restrict x)
{
    memcpy(y, x, N * sizeof(real));
    for (int half = N / 2; half >= 1; half /= 2)
        for (int p = 0; p < N; p += 2 * half) {
            real *restrict a = y + p, *restrict b = a + half;
            for (int q = 0; q < half; q++) {
                real s = a[q], t = b[q];
                a[q] = s + t, b[q] = s - t;
            }
        }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(walsh(y, x));
    report(checksum(y, N));
}
