#include "../survey_c.h"
#define M SIZE(60000, 30)
#define LEN(i) ((i) * 7 % 13)
static void product(real *y, const int *first, const int *column, const real *value, const real *x)
{
    for (int i = 0; i < M; i++) {
        real sum = 0;
        for (int l = first[i]; l < first[i + 1]; l++) sum += value[l] * x[column[l]];
        y[i] = sum;
    }
}
int main(void)
{
    int *first = memory(M + 1, sizeof(int));
    first[0] = 0;
    for (int i = 0; i < M; i++) first[i + 1] = first[i] + LEN(i);
    long k = first[M];
    int *column = memory(k, sizeof(int));
    real *value = memory(k, sizeof(real)), *x = memory(M, sizeof(real)), *y = memory(M, sizeof(real));
    for (long l = 0; l < k; l++) column[l] = (int)((double)M * datum(l, 7907)), value[l] = datum(l, 7919) - 0.5;
    for (long j = 0; j < M; j++) x[j] = datum(j, 7901) - 0.5;
    MEASURE(product(y, first, column, value, x));
    report(checksum(y, M));
}
