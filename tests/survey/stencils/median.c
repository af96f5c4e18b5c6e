#include "../survey_c.h"
#define N SIZE(600, 12)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static real min(real a, real b) { return MIN(a, b); }
static real max(real a, real b) { return MAX(a, b); }
static real middle(real a, real b, real c) { return max(min(a, b), min(max(a, b), c)); }
static void median(real *restrict y, const real *restrict a)
{
    for (int j = 0; j < N; j++) y[j] = a[j], y[(N - 1) * N + j] = a[(N - 1) * N + j];
    for (int i = 1; i < N - 1; i++) {
        y[i * N] = a[i * N], y[i * N + N - 1] = a[i * N + N - 1];
        for (int j = 1; j < N - 1; j++) {
            real l[3], m[3], h[3];
            for (int k = 0; k < 3; k++) {
                const real *at = a + (i + k - 1) * N + j;
                real low = min(at[-1], at[0]), high = max(at[-1], at[0]);
                l[k] = min(low, at[1]), m[k] = max(low, min(high, at[1])), h[k] = max(high, at[1]);
            }
            y[i * N + j] = middle(max(max(l[0], l[1]), l[2]), middle(m[0], m[1], m[2]), min(min(h[0], h[1]), h[2]));
        }
    }
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(median(y, a));
    report(checksum(y, N * N));
}
