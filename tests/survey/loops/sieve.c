#include "../survey_c.h"
#include <string.h>
#define N SIZE(200000, 900)
static void primes(int *composite)
{
    memset(composite, 0, N * sizeof(int));
    composite[0] = composite[1] = 1;
    for (int i = 2; i * i < N; i++)
        if (!composite[i])
            for (int j = i * i; j < N; j += i) composite[j] = 1;
}
int main(void)
{
    int *composite = memory(N, sizeof(int));
    MEASURE(primes(composite));
    report(checksum_int(composite, N));
}
