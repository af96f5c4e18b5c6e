#include "../survey_c.h"
#define N SIZE(20000, 20)
#define M SIZE(10000, 100)
static void sums(real *restrict y, const int *restrict from, const int *restrict to, const real *restrict v)
{
    for (int i = 0; i < N; i++) {
        real s = 0;
        for (int j = from[i]; j < to[i]; j++) s += v[j] * v[j];
        y[i] = s;
    }
}
int main(void)
{
    int *from = memory(N, sizeof(int)), *to = memory(N, sizeof(int));
    real *v = memory(M, sizeof(real)), *y = memory(N, sizeof(real));
    for (int i = 0; i < N; i++) from[i] = i * (M - 90) / N, to[i] = i * (M - 90) / N + i % 90;
    for (long i = 0; i < M; i++) v[i] = datum(i, 7919) - 0.5;
    MEASURE(sums(y, from, to, v));
    report(checksum(y, N));
}
