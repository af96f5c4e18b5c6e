#include <string.h>
#include "../survey_c.h"
#define N SIZE(10000, 20)
#define STEPS SIZE(10, 3)
static void ranks(real *restrict rank, const int *restrict row, const int *restrict from, const real *restrict first)
{
    static real out[N], share[N];
    memcpy(rank, first, N * sizeof(real));
    for (int i = 0; i < N; i++) out[i] = 1;
    for (int k = 0; k < 8 * N + 2; k++) out[from[k]]++;
    for (int t = 0; t < STEPS; t++) {
        real all = 0;
        for (int i = 0; i < N; i++) share[i] = rank[i] / out[i];
        for (int i = 0; i < N; i++) {
            real sum = 0;
            for (int k = row[i]; k < row[i + 1]; k++) sum += share[from[k]];
            rank[i] = (real)0.15 + (real)0.85 * sum;
            all += rank[i];
        }
        for (int i = 0; i < N; i++) rank[i] /= all;
    }
}
int main(void)
{
    int *row = memory(N + 1, sizeof(int)), *from = memory(8 * N + 2, sizeof(int));
    real *first = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (int i = 0; i <= N; i++) row[i] = 8 * i + i % 3;
    for (int k = 0; k < 8 * N + 2; k++) from[k] = (k % 1009 * 7919 % 1009 + k / 50) % N;
    for (int i = 0; i < N; i++) first[i] = (real)1 / N;
    MEASURE(ranks(y, row, from, first));
    for (int i = 0; i < N; i++) y[i] *= N;
    report(checksum(y, N));
}
