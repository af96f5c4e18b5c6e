#include "../survey_c.h"
#define M SIZE(10000, 20)
#define N SIZE(50, 12)
static void scores(real *y, const real *a)
{
    for (int i = 0; i < M; i++) {
        const real *v = a + i * N;
        real m = v[0];
        int p = 0;
        for (int j = 1; j < N; j++)
            if (v[j] > m) m = v[j], p = j;
        y[i] = m * (1 + p);
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *y = memory(M, sizeof(real));
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) a[i * N + j] = datum(i % 1000 * (i % 1000) * 31 + i * j * 17 + j * j, 7919) - 0.5;
    MEASURE(scores(y, a));
    report(checksum(y, M));
}
