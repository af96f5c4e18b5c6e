#include "../survey_c.h"
#define N SIZE(32, 2)
#define S SIZE(64, 6)
static void back(real *y, const real *x, const real *dy)
{
    for (int i = 0; i < N * S * S; i++) y[i] = 0;
    for (int k = 0; k < N; k++)
        for (int i = 0; i < S; i += 2)
            for (int j = 0; j < S; j += 2) {
                int best = (k * S + i) * S + j, at[] = {best, best + 1, best + S, best + S + 1};
                for (int p = 1; p < 4; p++) best = x[at[p]] > x[best] ? at[p] : best;
                y[best] = dy[(k * S / 2 + i / 2) * (S / 2) + j / 2];
            }
}
int main(void)
{
    real *x = memory(N * S * S, sizeof(real)), *dy = memory(N * S * S / 4, sizeof(real)), *y = memory(N * S * S, sizeof(real));
    for (long i = 0; i < N * S * S; i++) x[i] = datum(i, 7919) - 0.5;
    for (long k = 0; k < N; k++)
        for (long i = 0; i < S / 2; i++)
            for (long j = 0; j < S / 2; j++) dy[(k * S / 2 + i) * S / 2 + j] = datum((k * S + i) * S + j, 104729) - 0.5;
    MEASURE(back(y, x, dy));
    report(checksum(y, N * S * S));
}
