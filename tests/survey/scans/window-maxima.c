#include "../survey_c.h"
#define N SIZE(200000, 200)
#define W SIZE(64, 20)
static void maxima(real *restrict y, int *restrict queue, const real *restrict x, int n, int w)
{
    int first = 0, end = 0;
    for (int i = 0; i < n; i++) {
        while (end > first && x[queue[end - 1]] <= x[i]) end--;
        queue[end++] = i;
        if (queue[first] <= i - w) first++;
        if (i >= w - 1) y[i - w + 1] = x[queue[first]];
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    int *queue = memory(N, sizeof(int));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(maxima(y, queue, x, N, W));
    report(checksum(y, N - W + 1));
}
