#include "../survey_c.h"
#include <string.h>
#define N SIZE(65536, 64)
#define LEAST 8
static void inverse(real *y, real *t, const real *v, const real *h)
{
    memcpy(y, v, N * sizeof(real));
    for (int m = LEAST; m < N; m *= 2) {
        int l = m - 1;
        for (int i = 0; i < m; l = i++) {
            t[2 * i] = h[2] * y[l] + h[1] * y[m + l] + h[0] * y[i] + h[3] * y[m + i];
            t[2 * i + 1] = h[3] * y[l] - h[0] * y[m + l] + h[1] * y[i] - h[2] * y[m + i];
        }
        memcpy(y, t, 2 * m * sizeof(real));
    }
}
int main(void)
{
    real *v = memory(N, sizeof(real)), *t = memory(N, sizeof(real)), *y = memory(N, sizeof(real)), h[4];
    for (long i = 0; i < N; i++) v[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < 4; i++) h[i] = datum(i, 104729) - 0.5;
    MEASURE(inverse(y, t, v, h));
    report(checksum(y, N));
}
