#include "../survey_c.h"
#define M SIZE(3000, 20)
#define N SIZE(200, 8)
static void standardise(real *restrict y, const real *restrict x)
{
    static real mean[N], scale[N];
    for (int j = 0; j < N; j++) mean[j] = scale[j] = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) mean[j] += x[i * N + j];
    for (int j = 0; j < N; j++) mean[j] /= M;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) scale[j] += (x[i * N + j] - mean[j]) * (x[i * N + j] - mean[j]);
    for (int j = 0; j < N; j++) scale[j] = SQRT(scale[j] / M);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) y[i * N + j] = (x[i * N + j] - mean[j]) / scale[j];
}
int main(void)
{
    real *x = memory(M * N, sizeof(real)), *y = memory(M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(standardise(y, x));
    for (long i = 0; i < M * N; i++) y[i] *= y[i];
    report(checksum(y, M * N));
}
