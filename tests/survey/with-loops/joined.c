#include "../survey_c.h"
#define M SIZE(1200, 8)
#define N SIZE(300, 10)
static const real *row(const real *a, const real *b, int i) { return i < M ? a + i * N : b + (i - M) * N; }
static void rearranged(real *restrict y, const real *a, const real *b)
{
    for (int i = 0; i < M; i++) {
        const real *p = row(a, b, 2 * i), *q = row(a, b, 2 * i + 1), *r = row(a, b, 2 * M - 1 - 2 * i), *s = row(a, b, 2 * M - 2 - 2 * i);
        for (int j = 0; j < N; j++) y[i * 2 * N + j] = (real)0.5 * (p[j] + q[j]);
        for (int j = 0; j < N; j++) y[i * 2 * N + N + j] = (real)0.5 * (r[j] + s[j]);
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *b = memory(M * N, sizeof(real)), *y = memory(2 * M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) - 0.5, b[i] = datum(i, 7907) - 0.5;
    MEASURE(rearranged(y, a, b));
    report(checksum(y, 2 * M * N));
}
