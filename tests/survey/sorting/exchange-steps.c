#include "../survey_c.h"
#define N SIZE(2000, 30)
static void sorted(real *y, const real *v)
{
    for (int i = 0; i < N; i++) y[i] = v[i];
    for (int round = 0; round < N; round++)
        for (int i = round % 2; i + 1 < N; i += 2) {
            real low = y[i] < y[i + 1] ? y[i] : y[i + 1], high = y[i] < y[i + 1] ? y[i + 1] : y[i];
            y[i] = low, y[i + 1] = high;
        }
}
int main(void)
{
    real *v = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) v[i] = datum(i, 7919) - 0.5;
    MEASURE(sorted(y, v));
    report(checksum(y, N));
}
