#include <string.h>
#include "../survey_c.h"
#define N SIZE(100000, 30)
static void solution(real *restrict x, const int *restrict row, const int *restrict column, const real *restrict value, const real *restrict b)
{
    memcpy(x, b, N * sizeof(real));
    for (int i = 0; i < N; i++) {
        real s = b[i];
        for (int k = row[i]; k < row[i + 1]; k++) s -= value[k] * x[column[k]];
        x[i] = s;
    }
}
int main(void)
{
    int *row = memory(N + 1, sizeof(int)), *column = memory(8 * N + 2, sizeof(int));
    real *value = memory(8 * N + 2, sizeof(real)), *b = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (int i = 0; i <= N; i++) row[i] = 8 * i + i % 3;
    for (int k = 0; k < 8 * N + 2; k++) column[k] = k % 1009 * 7919 % 1009 % (k / 10 > 1 ? k / 10 : 1), value[k] = (datum(k, 7919) - 0.5) * (real)0.2;
    for (int i = 0; i < N; i++) b[i] = datum(i, 104729) - 0.5;
    MEASURE(solution(y, row, column, value, b));
    report(checksum(y, N));
}
