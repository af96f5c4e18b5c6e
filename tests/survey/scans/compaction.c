#include "../survey_c.h"
#define N SIZE(800000, 200)
static int positive(real *restrict y, const real *restrict x, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > 0) y[count++] = x[i];
    return count;
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    int count;
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(count = positive(y, x, N));
    report(checksum(y, count));
}
