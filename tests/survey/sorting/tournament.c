#include <string.h>
#include "../survey_c.h"
#define N SIZE(524288, 64)
static void rounds(real *restrict y, const real *restrict v)
{
    memcpy(y, v, N * sizeof(real));
    for (int k = N / 2; k > 0; k /= 2)
        for (int i = 0; i < k; i++) {
            real a = y[i], b = y[i + k];
            y[i] = a > b ? a : b;
            y[i + k] = a > b ? b : a;
        }
}
int main(void)
{
    real *v = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) v[i] = datum(i, 7919) - 0.5;
    MEASURE(rounds(y, v));
    report(checksum(y, N));
}
