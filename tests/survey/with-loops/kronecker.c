#include "../survey_c.h"
#define M SIZE(20000, 10)
#define P 8
#define Q 8
static void pairs(real *restrict z, const real *restrict x, const real *restrict y)
{
    for (int k = 0; k < M; k++)
        for (int p = 0; p < P; p++)
            for (int q = 0; q < Q; q++) z[(k * P + p) * Q + q] = x[k * P + p] * y[k * Q + q] + (real)0.5 * x[k * P + q];
}
int main(void)
{
    real *a = memory(M * P, sizeof(real)), *b = memory(M * Q, sizeof(real)), *y = memory(M * P * Q, sizeof(real));
    for (long i = 0; i < M * P; i++) a[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < M * Q; i++) b[i] = datum(i, 7907) - 0.5;
    MEASURE(pairs(y, a, b));
    report(checksum(y, M * P * Q));
}
