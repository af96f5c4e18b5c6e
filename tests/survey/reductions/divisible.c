#include "../survey_c.h"
#define N SIZE(1600000, 300)
static void counts(int *restrict y, const int *restrict v, int n)
{
    int threes = 0, sevens = 0, odd = 0, any_zero = 0, all_small = 1;
    for (int i = 0; i < n; i++) {
        if (v[i] % 3 == 0) threes++;
        sevens += v[i] % 7 == 1 ? v[i] : 0;
        odd ^= v[i] % 2;
        any_zero |= v[i] == 0;
        all_small &= v[i] < 1009;
    }
    y[0] = threes, y[1] = sevens, y[2] = odd, y[3] = any_zero, y[4] = all_small;
}
int main(void)
{
    int *v = memory(N, sizeof(int)), y[5];
    for (long i = 0; i < N; i++) v[i] = i % 1009 * 7919 % 1009;
    MEASURE(counts(y, v, N));
    report(checksum_int(y, 5));
}
