#include "../survey_c.h"
#define N SIZE(640, 16)
#define B 8
static void coded(real *restrict y, const real *restrict a, const real *restrict t, real least)
{
    for (int p = 0; p < N; p += B)
        for (int q = 0; q < N; q += B) {
            real half[B][B], whole[B][B];
            for (int i = 0; i < B; i++) {
                for (int j = 0; j < B; j++) half[i][j] = 0;
                for (int k = 0; k < B; k++)
                    for (int j = 0; j < B; j++) half[i][j] += t[i * B + k] * a[(p + k) * N + q + j];
            }
            for (int i = 0; i < B; i++)
                for (int j = 0; j < B; j++) {
                    whole[i][j] = 0;
                    for (int k = 0; k < B; k++) whole[i][j] += half[i][k] * t[j * B + k];
                    real size = whole[i][j] < 0 ? -whole[i][j] : whole[i][j];
                    y[(p + i) * N + q + j] = size > least ? whole[i][j] : 0;
                }
        }
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), t[B * B], *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < B * B; i++) t[i] = datum(i, 7907) - 0.5;
    MEASURE(coded(y, a, t, 0.25));
    report(checksum(y, N * N));
}
