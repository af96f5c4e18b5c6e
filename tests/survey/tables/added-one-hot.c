#include <string.h>
#include "../survey_c.h"
#define N SIZE(500000, 40)
#define M SIZE(64, 8)
static void votes(int *h, const int *v)
{
    memset(h, 0, M * sizeof(int));
    for (int i = 0; i < N; i++) h[v[i]]++;
}
int main(void)
{
    int *v = memory(N, sizeof(int)), *h = memory(M, sizeof(int));
    for (int i = 0; i < N; i++) v[i] = i % 1009 * 7919 % 1009 % M;
    MEASURE(votes(h, v));
    report(checksum_int(h, M));
}
