#include "../survey_c.h"
#define M SIZE(40000, 30)
#define N SIZE(48, 8)
#define TABLE SIZE(1000, 10)
static void scores(real *y, const real *table, const int *at, const int *other)
{
    for (int k = 0; k < M; k++) {
        const real *a = table + at[k] * N, *b = table + other[k] * N;
        real ab = 0, aa = 0;
        for (int j = 0; j < N; j++) ab += a[j] * b[j], aa += a[j] * a[j];
        y[k] = ab / (1 + aa);
    }
}
int main(void)
{
    real *table = memory(TABLE * N, sizeof(real)), *y = memory(M, sizeof(real));
    int *at = memory(M, sizeof(int)), *other = memory(M, sizeof(int));
    for (long i = 0; i < TABLE * N; i++) table[i] = datum(i, 7919) - 0.5;
    for (long k = 0; k < M; k++) at[k] = (int)((double)TABLE * datum(k, 7907)), other[k] = (int)((double)TABLE * datum(k, 7901));
    MEASURE(scores(y, table, at, other));
    report(checksum(y, M));
}
