#include "../survey_c.h"
#include <string.h>
#define N SIZE(262144, 512)
static void haar(real *v, real *t, const real *v0)
{
    memcpy(v, v0, N * sizeof(real));
    for (int m = N; m > 1; m /= 2) {
        int h = m / 2;
        for (int i = 0; i < h; i++) {
            t[i] = (real)0.5 * (v[2 * i] + v[2 * i + 1]);
            t[h + i] = (real)0.5 * (v[2 * i] - v[2 * i + 1]);
        }
        memcpy(v, t, m * sizeof(real));
    }
}
int main(void)
{
    real *v0 = memory(N, sizeof(real)), *v = memory(N, sizeof(real)), *t = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) v0[i] = datum(i, 7919) - 0.5;
    MEASURE(haar(v, t, v0));
    report(checksum(v, N));
}
