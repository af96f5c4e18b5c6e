#include "../survey_c.h"
#include <string.h>
#define N SIZE(140, 10)
static void triangle(real *a, const real *a0)
{
    memcpy(a, a0, N * N * sizeof(real));
    for (int j = 0; j < N; j++)
        for (int i = N - 1; i > j; i--) {
            real *above = a + (i - 1) * N, *row = a + i * N;
            real r = SQRT(above[j] * above[j] + row[j] * row[j]);
            real c = r == 0 ? 1 : above[j] / r, s = r == 0 ? 0 : row[j] / r;
            for (int k = j; k < N; k++) {
                real p = above[k], q = row[k];
                above[k] = c * p + s * q;
                row[k] = c * q - s * p;
            }
        }
}
int main(void)
{
    real *a0 = memory(N * N, sizeof(real)), *a = memory(N * N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a0[i * N + j] = datum(i * i * 31 + i * j * 17 + j * j * j * 7, 7919) - 0.5;
    MEASURE(triangle(a, a0));
    report(checksum(a, N * N));
}
