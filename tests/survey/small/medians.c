#include "../survey_c.h"
#define N SIZE(300, 10)
static void filtered(real *y, const real *a)
{
    for (int i = 0; i < N - 2; i++)
        for (int j = 0; j < N - 2; j++) {
            real w[9];
            for (int k = 0; k < 9; k++) w[k] = a[(i + k / 3) * N + j + k % 3];
            for (int p = 1; p < 9; p++)
                for (int q = p; q > 0; q--) {
                    real low = w[q - 1] < w[q] ? w[q - 1] : w[q], high = w[q - 1] < w[q] ? w[q] : w[q - 1];
                    w[q - 1] = low, w[q] = high;
                }
            y[i * (N - 2) + j] = w[4];
        }
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(filtered(y, a));
    report(checksum(y, (N - 2) * (N - 2)));
}
