#include "../survey_c.h"
#define N SIZE(256, 12)
static int mirror(int i) { return i < 0 ? -i : i >= N ? 2 * N - 2 - i : i; }
static void blur(real *y, const real *a)
{
    static const real w[5] = {0.0625, 0.25, 0.375, 0.25, 0.0625};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            real sum = 0;
            if (i >= 2 && i < N - 2 && j >= 2 && j < N - 2)
                for (int k = 0; k < 5; k++)
                    for (int l = 0; l < 5; l++) sum += w[k] * w[l] * a[(i + k - 2) * N + j + l - 2];
            else
                for (int k = 0; k < 5; k++)
                    for (int l = 0; l < 5; l++) sum += w[k] * w[l] * a[mirror(i + k - 2) * N + mirror(j + l - 2)];
            y[i * N + j] = sum;
        }
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(blur(y, a));
    report(checksum(y, N * N));
}
