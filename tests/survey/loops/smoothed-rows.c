#include "../survey_c.h"
#include <string.h>
#define M SIZE(256, 12)
#define N SIZE(500, 40)
static void smooth(real *a, const real *a0, real keep)
{
    memcpy(a, a0, M * N * sizeof(real));
    for (int i = 0; i < M; i++) {
        real *r = a + i * N;
        for (int j = 1; j < N; j++) r[j] += keep * (r[j - 1] - r[j]);
        for (int j = N - 2; j >= 0; j--) r[j] += keep * (r[j + 1] - r[j]);
    }
}
int main(void)
{
    real *a0 = memory(M * N, sizeof(real)), *a = memory(M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) a0[i] = datum(i, 7919) - 0.5;
    MEASURE(smooth(a, a0, 0.6));
    report(checksum(a, M * N));
}
