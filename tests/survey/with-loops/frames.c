#include "../survey_c.h"
#include <string.h>
#define N SIZE(400, 12)
#define STEPS SIZE(6, 3)
static void wrap(real *a)
{
    for (int j = 1; j < N - 1; j++) a[j] = a[(N - 2) * N + j], a[(N - 1) * N + j] = a[N + j];
    for (int i = 1; i < N - 1; i++) a[i * N] = a[i * N + N - 2], a[i * N + N - 1] = a[i * N + 1];
}
static void step(real *restrict b, const real *restrict a)
{
    memcpy(b, a, N * sizeof(real));
    memcpy(b + (N - 1) * N, a + (N - 1) * N, N * sizeof(real));
    for (int i = 1; i < N - 1; i++) {
        b[i * N] = a[i * N], b[i * N + N - 1] = a[i * N + N - 1];
        for (int j = i * N + 1; j < i * N + N - 1; j++) b[j] = a[j] - (real)0.1 * (a[j + N] - a[j - N]) + (real)0.2 * (a[j + 1] - a[j - 1]);
    }
}
static real *flow(const real *first, real *a, real *b)
{
    memcpy(a, first, N * N * sizeof(real));
    for (int t = 0; t < STEPS; t++) {
        wrap(a);
        step(b, a);
        real *swap = a;
        a = b, b = swap;
    }
    return a;
}
int main(void)
{
    real *first = memory(N * N, sizeof(real)), *a = memory(N * N, sizeof(real)), *b = memory(N * N, sizeof(real)), *y;
    for (long i = 0; i < N * N; i++) first[i] = datum(i, 7919) - 0.5;
    MEASURE(y = flow(first, a, b));
    report(checksum(y, N * N));
}
