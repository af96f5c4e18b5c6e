#include "../survey_c.h"
#define N SIZE(100000, 20)
static void transforms(real *restrict y, const real *restrict a)
{
    for (int r = 0; r < N; r++) {
        real v[8];
        for (int i = 0; i < 8; i++) v[i] = a[8 * r + i];
        for (int h = 1; h < 8; h *= 2)
            for (int p = 0; p < 8; p += 2 * h)
                for (int i = p; i < p + h; i++) {
                    real t = v[i + h];
                    v[i + h] = v[i] - t;
                    v[i] += t;
                }
        for (int i = 0; i < 8; i++) y[8 * r + i] = v[i];
    }
}
int main(void)
{
    real *a = memory(8 * N, sizeof(real)), *y = memory(8 * N, sizeof(real));
    for (long i = 0; i < 8 * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(transforms(y, a));
    report(checksum(y, 8 * N));
}
