#include "../survey_c.h"
#define N SIZE(1024, 16)
#define H (N / 2)
static void inverse_haar(real *restrict y, const real *restrict low, const real *restrict high)
{
    for (int i = 0; i < N * H; i++) {
        y[2 * i] = (real)0.5 * (low[i] + high[i]);
        y[2 * i + 1] = (real)0.5 * (low[i] - high[i]);
    }
}
int main(void)
{
    real *low = memory(N * H, sizeof(real)), *high = memory(N * H, sizeof(real)), *y = memory(2 * N * H, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < H; j++) low[i * H + j] = datum(i * N + j, 7919) - 0.5, high[i * H + j] = datum(i * N + j, 7907) - 0.5;
    MEASURE(inverse_haar(y, low, high));
    report(checksum(y, 2 * N * H));
}
