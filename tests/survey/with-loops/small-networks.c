#include "../survey_c.h"
#define M SIZE(2000, 2)
#define N 12
#define K 5
#define H (N - K + 1)
static void all_gradients(real *g, const real *x, const real *w, const real *target)
{
    for (int i = 0; i < K * K; i++) g[i] = 0;
    for (int s = 0; s < M; s++, x += N * N) {
        real dy[H * H], error = -target[s];
        for (int i = 0; i < H; i++) {
            real row[H];
            for (int j = 0; j < H; j++) row[j] = 0;
            for (int k = 0; k < K; k++)
                for (int l = 0; l < K; l++)
                    for (int j = 0; j < H; j++) row[j] += w[k * K + l] * x[(i + k) * N + j + l];
            for (int j = 0; j < H; j++) {
                real size = 1 + (row[j] < 0 ? -row[j] : row[j]);
                error += row[j] / size;
                dy[i * H + j] = 1 / (size * size);
            }
        }
        for (int k = 0; k < K; k++)
            for (int l = 0; l < K; l++) {
                real sum = 0;
                for (int i = 0; i < H; i++)
                    for (int j = 0; j < H; j++) sum += dy[i * H + j] * x[(i + k) * N + j + l];
                g[k * K + l] += error * sum;
            }
    }
}
int main(void)
{
    real *x = memory(M * N * N, sizeof(real)), w[K * K], *target = memory(M, sizeof(real)), y[K * K];
    for (long i = 0; i < M * N * N; i++) x[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < K * K; i++) w[i] = datum(i, 7907) - 0.5;
    for (long i = 0; i < M; i++) target[i] = datum(i, 7901) - 0.5;
    MEASURE(all_gradients(y, x, w, target));
    report(checksum(y, K * K));
}
