#include "../survey_c.h"
#define N SIZE(1600000, 300)
static void figures(int *restrict y, const int *restrict v, int n)
{
    unsigned total = 0, squares = 0;
    int least = v[0], most = v[0], large = 0;
    for (int i = 0; i < n; i++) {
        total += v[i];
        squares += (unsigned)v[i] * v[i];
        if (v[i] < least) least = v[i];
        if (v[i] > most) most = v[i];
        if (v[i] > 700 && v[i] < 900) large++;
    }
    y[0] = total, y[1] = squares, y[2] = least, y[3] = most, y[4] = large;
}
int main(void)
{
    int *v = memory(N, sizeof(int)), y[5];
    for (long i = 0; i < N; i++) v[i] = i % 1009 * 7919 % 1009;
    MEASURE(figures(y, v, N));
    report(checksum_int(y, 5));
}
