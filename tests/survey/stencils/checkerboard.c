#include "../survey_c.h"
#include <string.h>
#define N SIZE(512, 16)
#define STEPS SIZE(4, 2)
static void paint(real *restrict y, const real *restrict a, const real *restrict row)
{
    memcpy(y, a, N * N * sizeof(real));
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < N; i++) {
            real *to = y + i * N;
            if (i / 4 % 2 == 0)
                for (int j = 0; j < N; j += 8)
                    for (int k = j; k < j + 4; k++) to[k] += row[k];
            else
                for (int j = 4; j < N; j += 8)
                    for (int k = j; k < j + 4; k++) to[k] *= row[k];
        }
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *row = memory(N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) a[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < N; i++) row[i] = datum(i, 7907) - 0.5;
    MEASURE(paint(y, a, row));
    report(checksum(y, N * N));
}
