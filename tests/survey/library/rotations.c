#include "../survey_c.h"
#define S SIZE(64, 5)
static void relax(real *y, const real *w, const real *a)
{
    for (int i = 0; i < S; i++)
        for (int j = 0; j < S; j++)
            for (int k = 0; k < S; k++) {
                real sum = 0;
                for (int p = 0; p < 3; p++)
                    for (int q = 0; q < 3; q++)
                        for (int r = 0; r < 3; r++)
                            sum += w[9 * p + 3 * q + r] * a[(((i + p + S - 1) % S) * S + (j + q + S - 1) % S) * S + (k + r + S - 1) % S];
                y[(i * S + j) * S + k] = sum;
            }
}
int main(void)
{
    real *w = memory(27, sizeof(real)), *a = memory(S * S * S, sizeof(real)), *y = memory(S * S * S, sizeof(real));
    for (long i = 0; i < 27; i++) w[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < S * S * S; i++) a[i] = datum(i, 104729) - 0.5;
    MEASURE(relax(y, w, a));
    report(checksum(y, S * S * S));
}
