#include "../survey_c.h"
#include <string.h>
#define N SIZE(500, 30)
static int least(int a, int b) { return a < b ? a : b; }
static void paths(real *a, const real *a0)
{
    memcpy(a, a0, N * N * sizeof(real));
    for (int s = 1; s < N; s++) {
        a[s] += a[s - 1];
        a[s * N] += a[(s - 1) * N];
    }
    for (int s = 2; s < 2 * N - 1; s++)
        for (int i = s < N ? 1 : s - N + 1; i < least(s, N); i++) {
            real above = a[(i - 1) * N + s - i], left = a[i * N + s - i - 1];
            a[i * N + s - i] += above < left ? above : left;
        }
}
int main(void)
{
    real *a0 = memory(N * N, sizeof(real)), *a = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) a0[i] = datum(i, 7919);
    MEASURE(paths(a, a0));
    report(checksum(a, N * N));
}
