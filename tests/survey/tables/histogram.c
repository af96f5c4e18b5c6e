#include <string.h>
#include "../survey_c.h"
#define N SIZE(500000, 200)
static void counts(int *h, const int *v)
{
    memset(h, 0, 256 * sizeof(int));
    for (int i = 0; i < N; i++) h[v[i]]++;
}
int main(void)
{
    int *v = memory(N, sizeof(int)), *h = memory(256, sizeof(int));
    for (int i = 0; i < N; i++) v[i] = (i % 1009 * 7919 % 1009 + i / 1009) % 256;
    MEASURE(counts(h, v));
    report(checksum_int(h, 256));
}
