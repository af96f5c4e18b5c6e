#include "../survey_c.h"
#define N SIZE(16, 2)
#define S SIZE(128, 8)
static void batch(real *y, const real *w, const real *a)
{
    for (int q = 0; q < N; q++)
        for (int i = 0; i < S; i++)
            for (int j = 0; j < S; j++) {
                real sum = 0;
                for (int p = 0; p < 3; p++)
                    for (int o = 0; o < 3; o++) sum += w[3 * p + o] * a[(q * S + (i + p) % S) * S + (j + o) % S];
                y[(q * S + i) * S + j] = sum;
            }
}
int main(void)
{
    real *w = memory(9, sizeof(real)), *a = memory(N * S * S, sizeof(real)), *y = memory(N * S * S, sizeof(real));
    for (long i = 0; i < 9; i++) w[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < N * S * S; i++) a[i] = datum(i, 104729) - 0.5;
    MEASURE(batch(y, w, a));
    report(checksum(y, N * S * S));
}
