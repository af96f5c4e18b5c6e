#include "../survey_c.h"
#define N SIZE(50000, 100)
#define M SIZE(4096, 64)
static void places(int *y, const real *x, const real *table)
{
    for (int i = 0; i < N; i++) {
        int lo = 0, hi = M;
        while (lo < hi) {
            int mid = (lo + hi) / 2;
            if (table[mid] < x[i]) lo = mid + 1;
            else hi = mid;
        }
        y[i] = lo;
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *table = memory(M, sizeof(real));
    int *y = memory(N, sizeof(int));
    for (long i = 0; i < N; i++) x[i] = datum(i + i / 500, 7919) - 0.5;
    for (long i = 0; i < M; i++) table[i] = (real)i / M - (real)0.5;
    MEASURE(places(y, x, table));
    report(checksum_int(y, N));
}
