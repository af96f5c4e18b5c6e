#include "../survey_c.h"
#define N SIZE(801, 17)
#define C ((N - 1) / 2)
#define M (2 * C - 1)
static void there_and_back(real *restrict y, real *restrict c, const real *restrict f)
{
    for (int i = 0; i < C; i++)
        for (int j = 0; j < C; j++) {
            const real *p = f + 2 * i * N + 2 * j, *q = p + N, *r = q + N;
            real sum = (real)0.25 * q[1] + (real)0.125 * (p[1] + r[1] + q[0] + q[2]) + (real)0.0625 * (p[0] + p[2] + r[0] + r[2]);
            c[i * C + j] = sum * sum;
        }
    for (int i = 0; i < C; i++) {
        const real *p = c + i * C, *q = p + C;
        real *t = y + 2 * i * M, *u = t + M;
        for (int j = 0; j < C; j++) {
            t[2 * j] = p[j];
            if (j + 1 < C) t[2 * j + 1] = (real)0.5 * (p[j] + p[j + 1]);
        }
        if (i + 1 < C)
            for (int j = 0; j < C; j++) {
                u[2 * j] = (real)0.5 * (p[j] + q[j]);
                if (j + 1 < C) u[2 * j + 1] = (real)0.25 * (p[j] + p[j + 1] + q[j] + q[j + 1]);
            }
    }
}
int main(void)
{
    real *f = memory(N * N, sizeof(real)), *c = memory(C * C, sizeof(real)), *y = memory(M * M, sizeof(real));
    for (long i = 0; i < N * N; i++) f[i] = datum(i, 7919) - 0.5;
    MEASURE(there_and_back(y, c, f));
    report(checksum(y, M * M));
}
