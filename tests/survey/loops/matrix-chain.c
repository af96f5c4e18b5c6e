#include "../survey_c.h"
#include <string.h>
#define N SIZE(120, 16)
static void costs(int *cost, const int *extents)
{
    memset(cost, 0, N * N * sizeof(int));
    for (int length = 1; length < N; length++)
        for (int i = 0; i + length < N; i++) {
            int j = i + length, least = 2000000000;
            for (int k = i; k < j; k++) {
                int c = cost[i * N + k] + cost[(k + 1) * N + j] + extents[i] * extents[k + 1] * extents[j + 1];
                least = c < least ? c : least;
            }
            cost[i * N + j] = least;
        }
}
int main(void)
{
    int *cost = memory(N * N, sizeof(int)), *extents = memory(N + 1, sizeof(int));
    for (int i = 0; i <= N; i++) extents[i] = 1 + i * 389 % 31;
    MEASURE(costs(cost, extents));
    report(checksum_int(cost, N * N));
}
