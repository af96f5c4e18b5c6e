#include <string.h>
#include "../survey_c.h"
#define N SIZE(100000, 200)
static void smallest(real *y, int k, const real *x)
{
    static real v[N];
    int lo = 0, hi = N - 1;
    memcpy(v, x, sizeof v);
    while (lo < hi) {
        real pivot = v[(lo + hi) / 2];
        int i = lo, j = hi;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i <= j) {
                real t = v[i];
                v[i++] = v[j];
                v[j--] = t;
            }
        }
        if (k <= j) hi = j;
        else if (k >= i) lo = i;
        else break;
    }
    for (int i = 0; i < k; i++) y[i] = v[i] < v[k] ? v[i] : v[k];
}
int main(void)
{
    real *v = memory(N, sizeof(real)), *y = memory(N, sizeof(real)), sum = 0;
    for (long i = 0; i < N; i++) v[i] = datum(i + i / 500, 7919) - 0.5;
    MEASURE(smallest(y, N / 2, v));
    for (int i = 0; i < N / 2; i++) sum += y[i];
    report(sum);
}
