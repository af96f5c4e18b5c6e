#include "../survey_c.h"
#define M SIZE(2000, 12)
#define N SIZE(1001, 21)
static void simpson(real *y, const real *f, real h)
{
    for (int i = 0; i < M; i++) {
        const real *row = f + i * N;
        real odd = 0, even = 0;
        for (int j = 1; j < N - 1; j += 2) odd += row[j];
        for (int j = 2; j < N - 1; j += 2) even += row[j];
        y[i] = h / 3 * (row[0] + row[N - 1] + 4 * odd + 2 * even);
    }
}
int main(void)
{
    real *f = memory(M * N, sizeof(real)), *y = memory(M, sizeof(real));
    for (long i = 0; i < M * N; i++) f[i] = datum(i, 7919) - 0.5;
    MEASURE(simpson(y, f, 0.5));
    report(checksum(y, M));
}
