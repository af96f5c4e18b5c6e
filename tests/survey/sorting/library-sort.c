#include <string.h>
#include "../survey_c.h"
#define N SIZE(50000, 80)
static int firsts(int *y, const real *v)
{
    static int a[N], b[N];
    int *p = a, *q = b, m = 0;
    for (int i = 0; i < N; i++) p[i] = i;
    for (int width = 1; width < N; width *= 2) {
        for (int lo = 0; lo < N; lo += 2 * width) {
            int mid = lo + width < N ? lo + width : N, hi = lo + 2 * width < N ? lo + 2 * width : N;
            for (int k = lo, i = lo, j = mid; k < hi; k++) q[k] = i < mid && (j >= hi || v[p[i]] <= v[p[j]]) ? p[i++] : p[j++];
        }
        int *t = p;
        p = q, q = t;
    }
    for (int i = 0; i < N; i++) if (i == 0 || v[p[i - 1]] < v[p[i]]) y[m++] = p[i];
    return m;
}
int main(void)
{
    real *v = memory(N, sizeof(real));
    int *y = memory(N, sizeof(int)), m = 0;
    for (long i = 0; i < N; i++) v[i] = datum(i + i / 500, 7919) - 0.5;
    MEASURE(m = firsts(y, v));
    report(checksum_int(y, m));
}
