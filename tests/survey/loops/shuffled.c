#include "../survey_c.h"
#include <string.h>
#define N SIZE(50000, 300)
static void shuffle(real *v, const real *v0, int seed)
{
    memcpy(v, v0, N * sizeof(real));
    for (int i = N - 1; i > 0; i--) {
        seed = (seed * 75 + 74) % 65537;
        int j = seed % (i + 1);
        real t = v[i];
        v[i] = v[j];
        v[j] = t;
    }
}
int main(void)
{
    real *v0 = memory(N, sizeof(real)), *v = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) v0[i] = datum(i, 7919) - 0.5;
    MEASURE(shuffle(v, v0, 1));
    report(checksum(v, N));
}
