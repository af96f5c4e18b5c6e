#include "../survey_c.h"
#include <string.h>
#define N SIZE(160, 10)
static void sweep(real *a, const real *a0)
{
    memcpy(a, a0, N * N * sizeof(real));
    for (int k = 0; k < N; k++) {
        real *row = a + k * N, p = 1 / row[k];
        for (int i = 0; i < N; i++) {
            real *r = a + i * N, f = r[k] * p;
            if (i == k) continue;
            for (int j = 0; j < N; j++) r[j] -= f * row[j];
            r[k] = -f;
        }
        for (int j = 0; j < N; j++) row[j] *= p;
        row[k] = p;
    }
}
int main(void)
{
    real *a0 = memory(N * N, sizeof(real)), *a = memory(N * N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a0[i * N + j] = datum(i * i * 31 + i * j * 17 + j, 7919) - 0.5 + (i == j ? N : 0);
    MEASURE(sweep(a, a0));
    report(checksum(a, N * N));
}
