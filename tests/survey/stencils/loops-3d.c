#include "../survey_c.h"
#include <string.h>
#define N SIZE(48, 7)
#define STEPS SIZE(4, 2)
static real *heat(const real *first, real *a, real *b)
{
    memcpy(a, first, N * N * N * sizeof(real)), memcpy(b, first, N * N * N * sizeof(real));
    for (int t = 0; t < STEPS; t++) {
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                for (int k = 1; k < N - 1; k++) {
                    const real *at = a + (i * N + j) * N + k;
                    b[(i * N + j) * N + k] = (real)0.4 * at[0] + (real)0.1 * (at[-N * N] + at[N * N] + at[-N] + at[N] + at[-1] + at[1]);
                }
        real *swap = a;
        a = b, b = swap;
    }
    return a;
}
int main(void)
{
    size_t n = N * N * N;
    real *first = memory(n, sizeof(real)), *a = memory(n, sizeof(real)), *b = memory(n, sizeof(real)), *y;
    for (size_t i = 0; i < n; i++) first[i] = datum(i, 7919) - 0.5;
    MEASURE(y = heat(first, a, b));
    report(checksum(y, n));
}
