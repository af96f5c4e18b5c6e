#include "../survey_c.h"
#include <string.h>
#define N SIZE(120, 12)
/* By rows: C keeps rows together. */
static void product(real *c, const real *a, const real *b)
{
    memset(c, 0, N * N * sizeof(real));
    for (int i = 0; i < N; i++)
        for (int l = 0; l < N; l++)
            for (int j = 0; j < N; j++) c[i * N + j] += a[i * N + l] * b[l * N + j];
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *b = memory(N * N, sizeof(real)), *c = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5, b[i] = datum(i, 104729) - 0.5;
    MEASURE(product(c, a, b));
    report(checksum(c, N * N));
}
