#include "../survey_c.h"
#define M SIZE(100000, 100)
#define N 12
static void moments(real *restrict y, const real *restrict x)
{
    real s[N], q[N], most[N];
    for (int j = 0; j < N; j++) s[j] = q[j] = 0, most[j] = -1000;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            real a = x[i * N + j];
            s[j] += a, q[j] += a * a, most[j] = a > most[j] ? a : most[j];
        }
    for (int j = 0; j < N; j++) y[j] = s[j] / M, y[N + j] = q[j] / M, y[2 * N + j] = most[j];
}
int main(void)
{
    real *x = memory(M * N, sizeof(real)), y[3 * N];
    for (long i = 0; i < M * N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(moments(y, x));
    report(checksum(y, 3 * N));
}
