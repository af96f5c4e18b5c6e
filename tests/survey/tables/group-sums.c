#include <string.h>
#include "../survey_c.h"
#define N SIZE(200000, 60)
#define M SIZE(100, 8)
static void sums(real *y, const int *key, const real *x)
{
    memset(y, 0, M * sizeof(real));
    for (int i = 0; i < N; i++) y[key[i]] += x[i];
}
int main(void)
{
    int *key = memory(N, sizeof(int));
    real *x = memory(N, sizeof(real)), *y = memory(M, sizeof(real));
    for (int i = 0; i < N; i++) key[i] = i % 1009 * 7919 % 1009 % M, x[i] = datum(i, 104729) - 0.5;
    MEASURE(sums(y, key, x));
    report(checksum(y, M));
}
