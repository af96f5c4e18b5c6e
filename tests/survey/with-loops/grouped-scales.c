#include "../survey_c.h"
#define M SIZE(1500, 10)
#define N SIZE(512, 32)
static void widened(real *restrict y, const unsigned char *restrict q, const real *restrict scale, const real *restrict zero)
{
    for (int g = 0; g < M * N / 16; g++)
        for (int j = g * 16; j < g * 16 + 16; j++) y[j] = q[j] * scale[g] - zero[g];
}
int main(void)
{
    unsigned char *q = memory(M * N, 1);
    real *scale = memory(M * N / 16, sizeof(real)), *zero = memory(M * N / 16, sizeof(real)), *y = memory(M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) q[i] = (unsigned char)(256 * datum(i, 7919));
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N / 16; j++) scale[i * (N / 16) + j] = datum(i * N + j, 7907) - 0.5, zero[i * (N / 16) + j] = datum(i * N + j, 7901) - 0.5;
    MEASURE(widened(y, q, scale, zero));
    report(checksum(y, M * N));
}
