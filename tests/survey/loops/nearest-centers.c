#include "../survey_c.h"
#define N SIZE(40000, 40)
#define K SIZE(12, 4)
static void centers(real *z, const real *x, const real *y, const real *c)
{
    real total[2 * K] = {0}, count[K] = {0};
    for (int i = 0; i < N; i++) {
        int best = 0;
        real least = 1000;
        for (int j = 0; j < K; j++) {
            real p = x[i] - c[2 * j], q = y[i] - c[2 * j + 1], d = p * p + q * q;
            if (d < least) least = d, best = j;
        }
        total[2 * best] += x[i];
        total[2 * best + 1] += y[i];
        count[best]++;
    }
    for (int j = 0; j < 2 * K; j++) z[j] = count[j / 2] > 0 ? total[j] / count[j / 2] : c[j];
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real)), *c = memory(2 * K, sizeof(real)), *z = memory(2 * K, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i * i, 7919) - 0.5, y[i] = datum(i * i + 3 * i, 577) - 0.5;
    for (long i = 0; i < 2 * K; i++) c[i] = (real)0.93 * (real)(datum(i / 2 * (i / 2) * 31 + i % 2 * 17, 104729) - 0.5);
    MEASURE(centers(z, x, y, c));
    report(checksum(z, 2 * K));
}
