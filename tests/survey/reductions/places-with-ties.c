#include "../survey_c.h"
#define N SIZE(200000, 300)
static void places(int *restrict y, const real *restrict x, int n)
{
    real most = x[0], top = x[0], best = 1000;
    int first = 0, last = 0, small = -1;
    for (int i = 1; i < n; i++)
        if (x[i] > most) most = x[i], first = i;
    for (int i = 1; i < n; i++)
        if (x[i] >= top) top = x[i], last = i;
    for (int i = 0; i < n; i++)
        if (i % 4 != 3 && fabs(x[i]) < best) best = fabs(x[i]), small = i;
    y[0] = first, y[1] = last, y[2] = small;
}
int main(void)
{
    real *x = memory(N, sizeof(real));
    int y[3];
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(places(y, x, N));
    report(checksum_int(y, 3));
}
