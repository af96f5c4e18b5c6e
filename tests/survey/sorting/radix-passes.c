#include "../survey_c.h"
#define N SIZE(50000, 100)
static void pass(int *w, const int *v, int shift)
{
    int at[257] = { 0 };
    for (int i = 0; i < N; i++) at[((v[i] >> shift) & 255) + 1]++;
    for (int d = 0; d < 256; d++) at[d + 1] += at[d];
    for (int i = 0; i < N; i++) w[at[(v[i] >> shift) & 255]++] = v[i];
}
static void sorted(int *y, const int *v)
{
    static int t[N];
    pass(y, v, 0);
    pass(t, y, 8);
    pass(y, t, 16);
}
int main(void)
{
    int *v = memory(N, sizeof(int)), *y = memory(N, sizeof(int));
    for (int i = 0; i < N; i++) v[i] = i % 1009 * 7919 % 1009 * 15000 + i;
    MEASURE(sorted(y, v));
    report(checksum_int(y, N));
}
