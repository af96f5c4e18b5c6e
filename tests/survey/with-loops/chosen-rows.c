#include "../survey_c.h"
#define M SIZE(20000, 30)
#define N SIZE(64, 8)
#define TABLE SIZE(500, 10)
static void chosen(real *restrict y, const real *restrict table, const int *at, const real *weight)
{
    for (int k = 0; k < M; k++) {
        const real *row = table + at[k] * N;
        if (weight[k] > 0)
            for (int j = 0; j < N; j++) y[k * N + j] = weight[k] * row[j] + 1;
        else
            for (int j = 0; j < N; j++) y[k * N + j] = 1;
    }
}
int main(void)
{
    real *table = memory(TABLE * N, sizeof(real)), *weight = memory(M, sizeof(real)), *y = memory(M * N, sizeof(real));
    int *at = memory(M, sizeof(int));
    for (long i = 0; i < TABLE * N; i++) table[i] = datum(i, 7919) - 0.5;
    for (long k = 0; k < M; k++) at[k] = (int)((double)TABLE * datum(k, 7907)), weight[k] = datum(k, 7901) - 0.5;
    MEASURE(chosen(y, table, at, weight));
    report(checksum(y, M * N));
}
