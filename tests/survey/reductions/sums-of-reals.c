#include "../survey_c.h"
#define N SIZE(1000000, 300)
static void line(real *restrict r, const real *restrict x, const real *restrict y, int n)
{
    real sx = 0, sy = 0, sxx = 0, sxy = 0;
    int right = 0;
    for (int i = 0; i < n; i++) {
        sx += x[i];
        sy += y[i];
        sxx += x[i] * x[i];
        sxy += x[i] * y[i];
        if (x[i] > 0) right++;
    }
    r[0] = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    r[1] = (sy - r[0] * sx) / n;
    r[2] = right;
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real)), r[3];
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5, y[i] = (real)(datum(i, 7919) - 0.5) / 2 + (real)(datum(i, 104729) - 0.5);
    MEASURE(line(r, x, y, N));
    report(checksum(r, 3));
}
