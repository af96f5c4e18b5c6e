#include "../survey_c.h"
#include <string.h>
#define M SIZE(6000, 20)
#define N SIZE(60, 12)
static void weighted(real *y, real *b, real *length, const real *a)
{
    for (int i = 0; i < M; i++) {
        real s = 0;
        for (int j = 0; j < N; j++) s += a[i * N + j] * a[i * N + j];
        length[i] = SQRT(s);
        for (int j = 0; j < N; j++) b[i * N + j] = a[i * N + j] / length[i];
    }
    for (int i = 0; i < M; i++) y[i] = b[i * N + i % N] * length[i] + b[i * N];
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *b = memory(M * N, sizeof(real)), *l = memory(M, sizeof(real)), *y = memory(M, sizeof(real));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) + 0.5;
    MEASURE(weighted(y, b, l, a));
    report(checksum(y, M));
}
