#include "../survey_c.h"
#include <string.h>
#define N SIZE(160, 12)
static void decomposed(real *y, real *a, int *p, const real *a0)
{
    memcpy(a, a0, N * N * sizeof(real));
    for (int i = 0; i < N; i++) p[i] = i;
    for (int k = 0; k < N; k++) {
        int best = k;
        for (int i = k + 1; i < N; i++)
            if (fabs(a[i * N + k]) > fabs(a[best * N + k])) best = i;
        for (int j = 0; j < N; j++) {
            real t = a[k * N + j];
            a[k * N + j] = a[best * N + j];
            a[best * N + j] = t;
        }
        int q = p[k];
        p[k] = p[best];
        p[best] = q;
        for (int i = k + 1; i < N; i++) {
            real f = a[i * N + k] /= a[k * N + k];
            for (int j = k + 1; j < N; j++) a[i * N + j] -= f * a[k * N + j];
        }
    }
    for (int i = 0; i < N; i++) {
        real s = p[i];
        for (int j = 0; j < N; j++) s += a[i * N + j];
        y[i] = s;
    }
}
int main(void)
{
    real *a0 = memory(N * N, sizeof(real)), *a = memory(N * N, sizeof(real)), *y = memory(N, sizeof(real));
    int *p = memory(N, sizeof(int));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a0[i * N + j] = datum(i * i * 31 + i * j * 17 + j * j * j * 7, 7919) - 0.5;
    MEASURE(decomposed(y, a, p, a0));
    report(checksum(y, N));
}
