#include "../survey_c.h"
#define N SIZE(400000, 300)
#define BINS SIZE(256, 16)
static void histogram(int *restrict count, const int *restrict v, int n, int bins)
{
    for (int b = 0; b < bins; b++) count[b] = 0;
    for (int i = 0; i < n; i++) count[v[i] * bins / 1009]++;
}
int main(void)
{
    int *v = memory(N, sizeof(int)), *count = memory(BINS, sizeof(int));
    for (long i = 0; i < N; i++) v[i] = i % 1009 * 7919 % 1009;
    MEASURE(histogram(count, v, N, BINS));
    report(checksum_int(count, BINS));
}
