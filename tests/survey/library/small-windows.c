#include "../survey_c.h"
#define N SIZE(100000, 40)
#define K 15
static void all_windows(real *y, const real *x, const real *h)
{
    for (int i = 0; i < N - K + 1; i++) {
        real w[K], mean = 0, sum = 0, most;
        for (int k = 0; k < K; k++) w[k] = h[k] * x[i + k];
        most = w[0];
        for (int k = 0; k < K; k++) mean += w[k] / K, most = w[k] > most ? w[k] : most;
        for (int k = 0; k < K; k++) sum += (w[k] - mean) * (w[k] - mean);
        y[i] = sum * most;
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *h = memory(K, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < K; i++) h[i] = datum(i, 104729) - 0.5;
    MEASURE(all_windows(y, x, h));
    report(checksum(y, N - K + 1));
}
