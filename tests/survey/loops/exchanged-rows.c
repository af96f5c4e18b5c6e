#include "../survey_c.h"
#include <string.h>
#define M SIZE(300, 20)
#define N SIZE(200, 10)
static void permute(real *a, const real *a0, const int *p)
{
    memcpy(a, a0, M * N * sizeof(real));
    for (int i = 0; i < M; i++) {
        real *r = a + i * N, *s = a + p[i] * N;
        for (int j = 0; j < N; j++) {
            real t = r[j];
            r[j] = s[j];
            s[j] = t;
        }
    }
    for (int i = 0; i < M; i++) {
        real *r = a + i * N, *s = a + p[i] * N;
        for (int j = 0; j < N; j++) {
            real t = r[j];
            r[j] = s[j];
            s[j] = t - r[j];
        }
    }
}
int main(void)
{
    real *a0 = memory(M * N, sizeof(real)), *a = memory(M * N, sizeof(real));
    int *p = memory(M, sizeof(int));
    for (long i = 0; i < M * N; i++) a0[i] = datum(i, 7919) - 0.5;
    for (int i = 0; i < M; i++) p[i] = i * 7 % M;
    MEASURE(permute(a, a0, p));
    report(checksum(a, M * N));
}
