#include "../survey_c.h"
#define N SIZE(700, 20)
static void transform(real *y, const real *x, const real *root)
{
    for (int k = 0; k < N; k++) {
        real re = 0, im = 0;
        for (int j = 0; j < N; j++) {
            const real *a = x + 2 * j, *b = root + 2 * (j * k % N);
            re += a[0] * b[0] - a[1] * b[1];
            im += a[0] * b[1] + a[1] * b[0];
        }
        y[2 * k] = re, y[2 * k + 1] = im;
    }
}
int main(void)
{
    real *x = memory(2 * N, sizeof(real)), *root = memory(2 * N, sizeof(real)), *y = memory(2 * N, sizeof(real));
    for (long i = 0; i < 2 * N; i++) x[i] = datum(i, 7919) - 0.5, root[i] = datum(i, 104729) - 0.5;
    MEASURE(transform(y, x, root));
    report(checksum(y, 2 * N));
}
