#include "../survey_c.h"
#define N SIZE(3000, 60)
static void volterra(real *restrict y, const real *restrict g, const real *restrict k, int n)
{
    for (int i = 0; i < n; i++) {
        real s = g[i];
        for (int j = 0; j < i; j++) s -= k[i - j] * y[j];
        y[i] = s / (1 + k[0]);
    }
}
int main(void)
{
    real *g = memory(N, sizeof(real)), *k = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) g[i] = datum(i, 7919) - 0.5, k[i] = (real)(datum(i, 104729) - 0.5) / 100;
    MEASURE(volterra(y, g, k, N));
    report(checksum(y, N));
}
