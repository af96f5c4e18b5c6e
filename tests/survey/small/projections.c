#include "../survey_c.h"
#define N SIZE(300000, 30)
static void lengths(real *restrict y, const real *restrict q)
{
    for (int i = 0; i < N; i++) {
        real p[3];
        if (q[3 * i + 2] > (real)0.1) p[0] = q[3 * i] / q[3 * i + 2], p[1] = q[3 * i + 1] / q[3 * i + 2], p[2] = 1 / q[3 * i + 2];
        else p[0] = 0, p[1] = 0, p[2] = -1;
        y[i] = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    }
}
int main(void)
{
    real *p = memory(3 * N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < 3 * N; i++) p[i] = datum(i, 7919) - 0.5;
    MEASURE(lengths(y, p));
    report(checksum(y, N));
}
