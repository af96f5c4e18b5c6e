#include <string.h>
#include "../survey_c.h"
#define N SIZE(100000, 30)
#define NNZ SIZE(800000, 200)
static void times(real *restrict y, const int *restrict row, const int *restrict column, const real *restrict value, const real *restrict x)
{
    memset(y, 0, N * sizeof(real));
    for (int k = 0; k < NNZ; k++) y[row[k]] += value[k] * x[column[k]];
}
int main(void)
{
    int *row = memory(NNZ, sizeof(int)), *column = memory(NNZ, sizeof(int));
    real *value = memory(NNZ, sizeof(real)), *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (int k = 0; k < NNZ; k++) {
        row[k] = (k % 1009 * 515 % 1009 + k / 8) % N;
        column[k] = (k % 1009 * 7919 % 1009 + k / 50) % N;
        value[k] = datum(k, 7919) - 0.5;
    }
    for (int i = 0; i < N; i++) x[i] = datum(i, 104729) - 0.5;
    MEASURE(times(y, row, column, value, x));
    report(checksum(y, N));
}
