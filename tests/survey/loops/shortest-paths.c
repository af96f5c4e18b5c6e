#include "../survey_c.h"
#include <string.h>
#define N SIZE(160, 16)
static void shortest(real *d, const real *d0)
{
    memcpy(d, d0, N * N * sizeof(real));
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++) {
            real first = d[i * N + k];
            for (int j = 0; j < N; j++) {
                real around = first + d[k * N + j];
                d[i * N + j] = around < d[i * N + j] ? around : d[i * N + j];
            }
        }
}
int main(void)
{
    real *d0 = memory(N * N, sizeof(real)), *d = memory(N * N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) d0[i * N + j] = i == j ? 0 : 0.001 + datum(i * N + j, 7919);
    MEASURE(shortest(d, d0));
    report(checksum(d, N * N));
}
