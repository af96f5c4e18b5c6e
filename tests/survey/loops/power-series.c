#include "../survey_c.h"
#include <string.h>
#define N SIZE(10000, 100)
static void series(real *a, const real *a0)
{
    memcpy(a, a0, N * sizeof(real));
    for (int k = 1; k < N; k += 20)
        for (int i = k; i < N; i++) a[i] += (real)0.5 * a[i - k];
}
int main(void)
{
    real *a0 = memory(N, sizeof(real)), *a = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) a0[i] = datum(i, 7919) - 0.5;
    MEASURE(series(a, a0));
    report(checksum(a, N));
}
