#include <string.h>
#include "../survey_c.h"
#define N SIZE(20000, 10)
static real determinant(const real *x)
{
    real a[4][4], det = 1;
    memcpy(a, x, sizeof a);
    for (int k = 0; k < 4; k++) {
        int p = k;
        for (int i = k + 1; i < 4; i++) if (fabs(a[i][k]) > fabs(a[p][k])) p = i;
        if (p != k) {
            for (int j = 0; j < 4; j++) { real t = a[k][j]; a[k][j] = a[p][j]; a[p][j] = t; }
            det = -det;
        }
        det *= a[k][k];
        for (int i = k + 1; i < 4; i++) {
            real f = a[i][k] / a[k][k];
            for (int j = k; j < 4; j++) a[i][j] -= f * a[k][j];
        }
    }
    return det;
}
static void determinants(real *y, const real *a) { for (int i = 0; i < N; i++) y[i] = determinant(a + 16 * i); }
int main(void)
{
    real *a = memory(16 * N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < 4; j++)
            for (long k = 0; k < 4; k++) a[16 * i + 4 * j + k] = datum(16 * i + 4 * j + k * k + i / 60, 7919) - 0.5 + (real)(j * j * k) / 40;
    MEASURE(determinants(y, a));
    report(checksum(y, N));
}
