#include "../survey_c.h"
#define N SIZE(100000, 20)
static void inverses(real *restrict y, const real *restrict x)
{
    for (int i = 0; i < N; i++) {
        const real *a = x + 9 * i;
        real *b = y + 9 * i;
        real c0 = a[4] * a[8] - a[5] * a[7], c1 = a[5] * a[6] - a[3] * a[8], c2 = a[3] * a[7] - a[4] * a[6];
        real d = a[0] * c0 + a[1] * c1 + a[2] * c2;
        b[0] = c0 / d, b[1] = (a[2] * a[7] - a[1] * a[8]) / d, b[2] = (a[1] * a[5] - a[2] * a[4]) / d;
        b[3] = c1 / d, b[4] = (a[0] * a[8] - a[2] * a[6]) / d, b[5] = (a[2] * a[3] - a[0] * a[5]) / d;
        b[6] = c2 / d, b[7] = (a[1] * a[6] - a[0] * a[7]) / d, b[8] = (a[0] * a[4] - a[1] * a[3]) / d;
    }
}
int main(void)
{
    real *a = memory(9 * N, sizeof(real)), *y = memory(9 * N, sizeof(real));
    for (long i = 0; i < 9 * N; i++) a[i] = datum(i, 7919) - 0.5 + (i % 9 % 4 == 0 ? 2 : 0);
    MEASURE(inverses(y, a));
    report(checksum(y, 9 * N));
}
