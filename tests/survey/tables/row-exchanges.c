#include <string.h>
#include "../survey_c.h"
#define N SIZE(500, 15)
#define M SIZE(200, 8)
static void shuffled(real *restrict y, const real *restrict a, const int *restrict with_row)
{
    memcpy(y, a, N * M * sizeof(real));
    for (int p = 0; p < N; p++)
        for (int j = 0; j < M; j++) {
            real t = y[p * M + j];
            y[p * M + j] = y[with_row[p] * M + j];
            y[with_row[p] * M + j] = t;
        }
}
int main(void)
{
    real *a = memory(N * M, sizeof(real)), *y = memory(N * M, sizeof(real));
    int *with_row = memory(N, sizeof(int));
    for (long i = 0; i < N * M; i++) a[i] = datum(i, 7919) - 0.5;
    for (int i = 0; i < N; i++) with_row[i] = i % 1009 * 7919 % 1009 % N;
    MEASURE(shuffled(y, a, with_row));
    report(checksum(y, N * M));
}
