#include "../survey_c.h"
#define N SIZE(20000, 5)
#define K 17
static void greatest(real *y, const real *r)
{
    for (int i = 0; i < N; i++) {
        real p[K] = {1}, most = 0;
        for (int k = 1; k < K; k++)
            for (int j = k; j > 0; j--) p[j] -= r[(K - 1) * i + k - 1] * p[j - 1];
        for (int k = 0; k < K; k++) most = fabs(p[k]) > most ? fabs(p[k]) : most;
        y[i] = most;
    }
}
int main(void)
{
    real *r = memory((K - 1) * N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < (K - 1) * N; i++) r[i] = datum(i, 7919) - 0.5;
    MEASURE(greatest(y, r));
    report(checksum(y, N));
}
