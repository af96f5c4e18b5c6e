#include "../survey_c.h"
#define N SIZE(150, 10)
#define M SIZE(320, 13)
static void resize(real *restrict out, const real *restrict a)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            real y = (real)i * (N - 1) / (M - 1), x = (real)j * (N - 1) / (M - 1);
            int r = (int)y < N - 2 ? (int)y : N - 2, c = (int)x < N - 2 ? (int)x : N - 2;
            real v = y - r, u = x - c;
            const real *at = a + (r * N + c) * 3;
            for (int k = 0; k < 3; k++)
                out[(i * M + j) * 3 + k] = (1 - v) * ((1 - u) * at[k] + u * at[3 + k]) + v * ((1 - u) * at[3 * N + k] + u * at[3 * N + 3 + k]);
        }
}
int main(void)
{
    real *a = memory(3 * N * N, sizeof(real)), *y = memory(3 * M * M, sizeof(real));
    for (long i = 0; i < 3 * N * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(resize(y, a));
    report(checksum(y, 3 * M * M));
}
