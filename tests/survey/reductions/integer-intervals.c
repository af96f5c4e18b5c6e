#include "../survey_c.h"
#define N SIZE(100000, 2000)
#define M SIZE(4000, 20)
static void interval_sums(int *restrict y, const int *restrict x, const int *restrict from, const int *restrict to)
{
    int most = 0;
    for (int i = 0; i < M; i++) {
        int s = most % 8;
        for (int k = from[i]; k < to[i]; k++) s += x[k] * x[k];
        most = most > s ? most : s;
        y[i] = s;
    }
}
int main(void)
{
    int *x = memory(N, sizeof(int)), *from = memory(M, sizeof(int)), *to = memory(M, sizeof(int)), *y = memory(M, sizeof(int));
    for (long i = 0; i < N; i++) x[i] = i % 1009 * 7919 % 1009;
    for (int i = 0; i < M; i++) from[i] = i * 613 % 1009, to[i] = from[i] + i % 900;
    MEASURE(interval_sums(y, x, from, to));
    report(checksum_int(y, M));
}
