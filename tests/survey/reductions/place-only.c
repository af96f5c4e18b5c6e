#include "../survey_c.h"
#include <string.h>
#define N SIZE(2000, 60)
#define K SIZE(300, 20)
static void partly_sorted(real *restrict y, const real *restrict x, int n)
{
    memcpy(y, x, n * sizeof(real));
    for (int i = 0; i < K; i++) {
        int least = i;
        for (int j = i + 1; j < n; j++)
            if (y[j] < y[least]) least = j;
        real t = y[i];
        y[i] = y[least];
        y[least] = t;
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(partly_sorted(y, x, N));
    report(checksum(y, N));
}
