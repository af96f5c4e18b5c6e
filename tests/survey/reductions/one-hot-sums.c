#include "../survey_c.h"
#define N SIZE(600000, 200)
#define GROUPS SIZE(100, 16)
static void group_sums(real *restrict sums, const real *restrict weight, const int *restrict group, int n)
{
    for (int g = 0; g < GROUPS; g++) sums[g] = 0;
    for (int i = 0; i < n; i++) sums[group[i]] += weight[i];
}
int main(void)
{
    real *weight = memory(N, sizeof(real)), *sums = memory(GROUPS, sizeof(real));
    int *group = memory(N, sizeof(int));
    for (long i = 0; i < N; i++) weight[i] = datum(i, 7919) - 0.5, group[i] = i % 1009 * 613 % 1009 % GROUPS;
    MEASURE(group_sums(sums, weight, group, N));
    report(checksum(sums, GROUPS));
}
