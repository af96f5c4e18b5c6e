#include "../survey_c.h"
#define N SIZE(200000, 200)
static void falls(real *restrict y, const real *restrict x, int n)
{
    real level = x[0], fall = 0, peak = x[0];
    y[0] = level;
    for (int i = 1; i < n; i++) {
        level += x[i];
        peak = level > peak ? level : peak;
        fall = peak - level > fall ? peak - level : fall;
        y[i] = fall + level;
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(falls(y, x, N));
    report(checksum(y, N));
}
