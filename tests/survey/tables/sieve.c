#include <string.h>
#include "../survey_c.h"
#define N SIZE(500000, 500)
static void sieve(unsigned char *restrict y, const unsigned char *restrict mark)
{
    memcpy(y, mark, N);
    for (int p = 2; p * p < N; p++)
        if (y[p])
            for (int j = p * p; j < N; j += p) y[j] = 0;
}
int main(void)
{
    unsigned char *mark = memory(N, 1), *y = memory(N, 1);
    int *z = memory(N, sizeof(int));
    for (int i = 0; i < N; i++) mark[i] = i > 1;
    MEASURE(sieve(y, mark));
    for (int i = 0; i < N; i++) z[i] = y[i];
    report(checksum_int(z, N));
}
