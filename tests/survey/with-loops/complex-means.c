#include "../survey_c.h"
#define M SIZE(600, 12)
#define N SIZE(400, 14)
static void both(real *restrict a, real *restrict b, const real *restrict z, const real *restrict w)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N - 1; j++) {
            const real *p = z + (i * N + j) * 2, *q = w + (i * N + j) * 2;
            real re = (real)0.5 * (p[0] + p[2]) - q[0], im = (real)0.5 * (p[1] + p[3]) - q[1];
            int at = (i * (N - 1) + j) * 2;
            a[at] = re, a[at + 1] = im;
            b[at] = re * q[0] + im * q[1], b[at + 1] = im * q[0] - re * q[1];
        }
}
int main(void)
{
    size_t n = M * N * 2, k = M * (N - 1) * 2;
    real *z = memory(n, sizeof(real)), *w = memory(n, sizeof(real)), *y = memory(2 * k, sizeof(real));
    for (size_t i = 0; i < n; i++) z[i] = datum(i, 7919) - 0.5, w[i] = datum(i, 7907) - 0.5;
    MEASURE(both(y, y + k, z, w));
    report(checksum(y, 2 * k));
}
