#include <string.h>
#include "../survey_c.h"
#define N SIZE(20000, 60)
static void sorted(real *y, const real *x)
{
    static real other[N];
    real *v = y, *w = other;
    memcpy(v, x, N * sizeof(real));
    for (int width = 1; width < N; width *= 2) {
        for (int lo = 0; lo < N; lo += 2 * width) {
            int mid = lo + width < N ? lo + width : N, hi = lo + 2 * width < N ? lo + 2 * width : N;
            for (int k = lo, i = lo, j = mid; k < hi; k++) w[k] = i < mid && (j >= hi || v[i] <= v[j]) ? v[i++] : v[j++];
        }
        real *t = v;
        v = w, w = t;
    }
    if (v != y) memcpy(y, v, N * sizeof(real));
}
int main(void)
{
    real *v = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) v[i] = datum(i + i / 500, 7919) - 0.5;
    MEASURE(sorted(y, v));
    report(checksum(y, N));
}
