#include "../survey_c.h"
#include <string.h>
#define N SIZE(700, 14)
#define W 9
#define M (N - W + 1)
static void box_means(real *restrict y, real *restrict s, const real *restrict a)
{
    memset(s, 0, (N + 1) * sizeof(real));
    for (int i = 0; i < N; i++) {
        real row = 0;
        s[(i + 1) * (N + 1)] = 0;
        for (int j = 0; j < N; j++) s[(i + 1) * (N + 1) + j + 1] = s[i * (N + 1) + j + 1] + (row += a[i * N + j]);
    }
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            const real *top = s + i * (N + 1) + j, *bottom = top + W * (N + 1);
            y[i * M + j] = (bottom[W] - top[W] - bottom[0] + top[0]) / (W * W);
        }
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *s = memory((N + 1) * (N + 1), sizeof(real)), *y = memory(M * M, sizeof(real));
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(box_means(y, s, a));
    report(checksum(y, M * M));
}
