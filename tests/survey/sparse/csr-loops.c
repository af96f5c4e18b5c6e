#include "../survey_c.h"
#define N SIZE(100000, 30)
static void times(real *restrict y, const int *restrict row, const int *restrict column, const real *restrict value, const real *restrict x)
{
    for (int i = 0; i < N; i++) {
        real sum = 0;
        for (int k = row[i]; k < row[i + 1]; k++) sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}
int main(void)
{
    int *row = memory(N + 1, sizeof(int)), *column = memory(8 * N + 2, sizeof(int));
    real *value = memory(8 * N + 2, sizeof(real)), *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (int i = 0; i <= N; i++) row[i] = 8 * i + i % 3;
    for (int k = 0; k < 8 * N + 2; k++) column[k] = (k % 1009 * 7919 % 1009 + k / 50) % N, value[k] = datum(k, 7919) - 0.5;
    for (int i = 0; i < N; i++) x[i] = datum(i, 104729) - 0.5;
    MEASURE(times(y, row, column, value, x));
    report(checksum(y, N));
}
