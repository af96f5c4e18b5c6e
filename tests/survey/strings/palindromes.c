#include "../survey_c.h"
#define N SIZE(100000, 200)
static void radii(int *restrict y, const char *restrict s)
{
    for (int i = 0; i < N; i++) {
        int r = 0;
        while (i - r > 0 && i + r + 1 < N && s[i - r - 1] == s[i + r + 1]) r++;
        y[i] = r;
    }
}
int main(void)
{
    char *s = memory(N, 1);
    int *y = memory(N, sizeof(int));
    for (int i = 0; i < N; i++) s[i] = 97 + i % 1009 * 7919 % 1009 % 3 * (i % 64 / 32);
    MEASURE(radii(y, s));
    report(checksum_int(y, N));
}
