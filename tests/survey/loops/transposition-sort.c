#include "../survey_c.h"
#include <string.h>
#define M SIZE(2000, 4)
#define N SIZE(24, 8)
static void sorted(real *a, const real *a0)
{
    memcpy(a, a0, M * N * sizeof(real));
    for (int r = 0; r < M; r++) {
        real *v = a + r * N;
        for (int t = 0; t < N; t++)
            for (int j = t % 2; j + 1 < N; j += 2) {
                real x = v[j], y = v[j + 1];
                v[j] = x > y ? y : x;
                v[j + 1] = x > y ? x : y;
            }
    }
}
int main(void)
{
    real *a0 = memory(M * N, sizeof(real)), *a = memory(M * N, sizeof(real));
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) a0[i * N + j] = datum(i * i * 31 + i * j * 17 + j * j, 7919) - 0.5;
    MEASURE(sorted(a, a0));
    report(checksum(a, M * N));
}
