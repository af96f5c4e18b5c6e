#include "../survey_c.h"
#define N SIZE(256, 12)
#define T 4
#define S (2 * (N - 1) + T)
static void spread(real *y, const real *x, const real *w)
{
    for (int i = 0; i < S * S; i++) y[i] = 0;
    for (int p = 0; p < N; p++)
        for (int q = 0; q < N; q++)
            for (int k = 0; k < T; k++)
                for (int l = 0; l < T; l++) y[(2 * p + k) * S + 2 * q + l] += x[p * N + q] * w[k * T + l];
}
int main(void)
{
    real *x = memory(N * N, sizeof(real)), *w = memory(T * T, sizeof(real)), *y = memory(S * S, sizeof(real));
    for (long i = 0; i < N * N; i++) x[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < T * T; i++) w[i] = datum(i, 104729) - 0.5;
    MEASURE(spread(y, x, w));
    report(checksum(y, S * S));
}
