#include "../survey_c.h"
#define N SIZE(100000, 200)
#define W SIZE(50, 20)
static void moments(real *restrict y, const real *restrict x, int n, int w)
{
    real s = 0, q = 0;
    for (int i = 0; i < n; i++) {
        s += x[i];
        q += x[i] * x[i];
        if (i >= w) {
            s -= x[i - w];
            q -= x[i - w] * x[i - w];
        }
        if (i >= w - 1) {
            real mean = s / w;
            y[2 * (i - w + 1)] = mean;
            y[2 * (i - w + 1) + 1] = q / w - mean * mean;
        }
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(2 * N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(moments(y, x, N, W));
    report(checksum(y, 2 * (N - W + 1)));
}
