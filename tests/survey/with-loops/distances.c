#include "../survey_c.h"
#define M SIZE(3000, 12)
#define N SIZE(800, 15)
#define K 3
static void nearest(real *y, const real *restrict a, const real *restrict b)
{
    for (int i = 0; i < M; i++) {
        real best = 1e30;
        for (int j = 0; j < N; j++) {
            real sum = 0;
            for (int c = 0; c < K; c++) sum += (a[i * K + c] - b[j * K + c]) * (a[i * K + c] - b[j * K + c]);
            best = sum < best ? sum : best;
        }
        y[i] = SQRT(best);
    }
}
int main(void)
{
    real *a = memory(M * K, sizeof(real)), *b = memory(N * K, sizeof(real)), *y = memory(M, sizeof(real));
    for (long i = 0; i < M * K; i++) a[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < N * K; i++) b[i] = datum(i, 7907) - 0.5;
    MEASURE(nearest(y, a, b));
    report(checksum(y, M));
}
