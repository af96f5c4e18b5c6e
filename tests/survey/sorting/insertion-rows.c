#include "../survey_c.h"
#define N SIZE(20000, 15)
static void rows_sorted(real *y, const real *a)
{
    for (int r = 0; r < N; r++) {
        real v[12];
        for (int i = 0; i < 12; i++) v[i] = a[12 * r + i];
        for (int i = 1; i < 12; i++) {
            real x = v[i];
            int j = i;
            for (; j > 0 && v[j - 1] > x; j--) v[j] = v[j - 1];
            v[j] = x;
        }
        for (int i = 0; i < 12; i++) y[12 * r + i] = v[i];
    }
}
int main(void)
{
    real *a = memory(12 * N, sizeof(real)), *y = memory(12 * N, sizeof(real));
    for (long i = 0; i < 12 * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(rows_sorted(y, a));
    report(checksum(y, 12 * N));
}
