#include "../survey_c.h"
#define N SIZE(50000, 20)
static void products(real (*y)[3][3], real (*a)[3][3], real (*b)[3][3])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) {
                real sum = 0;
                for (int l = 0; l < 3; l++) sum += a[i][j][l] * b[i][l][k];
                y[i][j][k] = sum;
            }
}
int main(void)
{
    real *a = memory(9 * N, sizeof(real)), *b = memory(9 * N, sizeof(real)), *y = memory(9 * N, sizeof(real));
    for (long i = 0; i < 9 * N; i++) a[i] = datum(i, 7919) - 0.5, b[i] = datum(i, 104729) - 0.5;
    MEASURE(products((void *)y, (void *)a, (void *)b));
    report(checksum(y, 9 * N));
}
