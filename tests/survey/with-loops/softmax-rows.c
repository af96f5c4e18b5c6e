#include "../survey_c.h"
#define M SIZE(1000, 10)
#define N SIZE(300, 20)
static void softmax(real *restrict y, const real *restrict x)
{
    for (int i = 0; i < M; i++) {
        const real *row = x + i * N;
        real *to = y + i * N, most = row[0], total = 0;
        for (int j = 1; j < N; j++) most = row[j] > most ? row[j] : most;
        for (int j = 0; j < N; j++) total += to[j] = EXP(row[j] - most);
        for (int j = 0; j < N; j++) to[j] /= total;
    }
}
int main(void)
{
    real *x = memory(M * N, sizeof(real)), *y = memory(M * N, sizeof(real));
    for (long i = 0; i < M * N; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(softmax(y, x));
    report(checksum(y, M * N));
}
