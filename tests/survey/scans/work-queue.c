#include "../survey_c.h"
#define N SIZE(400000, 100)
static void paired(int *restrict count, const int *restrict queue, int n)
{
    for (int i = 0; i < 16; i++) count[i] = 0;
    while (n > 1) {
        int a = queue[0], b = queue[1], taken = a > b ? 1 : 2;
        count[(a * b) & 15]++;
        queue += taken;
        n -= taken;
    }
}
int main(void)
{
    int *queue = memory(N, sizeof(int)), count[16];
    for (long i = 0; i < N; i++) queue[i] = i % 1009 * 7919 % 1009;
    MEASURE(paired(count, queue, N));
    report(checksum_int(count, 16));
}
