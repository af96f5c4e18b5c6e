#include <string.h>
#include "../survey_c.h"
#define N SIZE(100000, 1000)
static void power(int *y, const int *x)
{
    static int a[N], b[N];
    int *p = a, *q = b;
    memcpy(p, x, sizeof a);
    for (int k = 0; k < SIZE(6, 3); k++) {
        for (int i = 0; i < N; i++) q[i] = p[p[i]];
        int *t = p;
        p = q, q = t;
    }
    for (int i = 0; i < N; i++) y[p[i]] = i;
}
int main(void)
{
    int *p = memory(N, sizeof(int)), *y = memory(N, sizeof(int));
    for (int i = 0; i < N; i++) p[i] = i % 1000 * 7 % 1000 * (N / 1000) + i / 1000;
    MEASURE(power(y, p));
    report(checksum_int(y, N));
}
