#include "../survey_c.h"
#include <stdbool.h>
#define N SIZE(800000, 200)
static int segments(real *restrict scan, const real *restrict x, const bool *restrict head, int n)
{
    real *total = scan + n, sum = 0;
    int last = -1;
    for (int i = 0; i < n; i++) {
        if (head[i] || i == 0) last++, sum = 0;
        sum += x[i];
        scan[i] = total[last] = sum;
    }
    return n + last + 1;
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(2 * N, sizeof(real));
    bool *head = memory(N, sizeof(bool));
    int size;
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5, head[i] = i % 1009 * 613 % 1009 % 7 == 0;
    MEASURE(size = segments(y, x, head, N));
    report(checksum(y, size));
}
