#include "../survey_c.h"
#define N SIZE(1000000, 50)
static void moments(real *m, const real *x, const real *y)
{
    real a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    for (int i = 0; i < N; i++) {
        real q = x[i] * x[i];
        a += x[i], b += q, c += q * x[i], d += q * q;
        e += y[i], f += x[i] * y[i], g += q * y[i], h += y[i] * y[i];
    }
    m[0] = a, m[1] = b, m[2] = c, m[3] = d, m[4] = e, m[5] = f, m[6] = g, m[7] = h;
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real)), m[8];
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5, y[i] = datum(i, 104729) - 0.5;
    MEASURE(moments(m, x, y));
    report(checksum(m, 8));
}
