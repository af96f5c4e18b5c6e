#include <string.h>
#include "../survey_c.h"
#define N SIZE(4000, 30)
#define ROUNDS SIZE(200, 10)
static void run(int *y, const int *rule, const int *x)
{
    static int a[N], b[N];
    int *c = a, *d = b;
    memcpy(c, x, sizeof a);
    for (int t = 0; t < ROUNDS; t++) {
        d[0] = rule[4 * c[N - 1] + 2 * c[0] + c[1]];
        for (int i = 1; i < N - 1; i++) d[i] = rule[4 * c[i - 1] + 2 * c[i] + c[i + 1]];
        d[N - 1] = rule[4 * c[N - 2] + 2 * c[N - 1] + c[0]];
        int *s = c;
        c = d, d = s;
    }
    memcpy(y, c, sizeof a);
}
int main(void)
{
    int *x = memory(N, sizeof(int)), *y = memory(N, sizeof(int)), rule[8];
    for (int i = 0; i < N; i++) x[i] = i % 1009 * 7919 % 1009 % 2;
    for (int i = 0; i < 8; i++) rule[i] = (110 >> i) & 1;
    MEASURE(run(y, rule, x));
    report(checksum_int(y, N));
}
