#include "../survey_c.h"
#define N SIZE(500, 8)
#define WORDS SIZE(64, 4)
static void common(int *y, const unsigned *s)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int n = 0;
            for (int k = 0; k < WORDS; k++) n += __builtin_popcount(s[i * WORDS + k] & s[j * WORDS + k]);
            y[i * N + j] = n;
        }
}
int main(void)
{
    unsigned *s = memory(N * WORDS, sizeof(unsigned));
    int *y = memory(N * N, sizeof(int));
    for (int i = 0; i < N * WORDS; i++) s[i] = (unsigned)(i % 1009 * 7919 % 1009) * 4256249u;
    MEASURE(common(y, s));
    report(checksum_int(y, N * N));
}
