#include "../survey_c.h"
#define STEPS SIZE(300, 4)
#define N SIZE(48, 8)
static real dot(const real *a, const real *b)
{
    real sum = 0;
    for (int j = 0; j < N; j++) sum += a[j] * b[j];
    return sum;
}
static void run(real *h, const real *x, const real *w, const real *u)
{
    for (int i = 0; i < N; i++) h[i] = 0;
    for (int k = 0; k < STEPS; k++, x += N) {
        real z[N], r[N], c[N];
        for (int i = 0; i < N; i++) z[i] = dot(w + i * N, x) + dot(u + i * N, h);
        for (int i = 0; i < N; i++) r[i] = dot(w + (N + i) * N, x) + dot(u + (N + i) * N, h);
        for (int i = 0; i < N; i++) z[i] = 1 / (1 + EXP(-z[i])), r[i] = 1 / (1 + EXP(-r[i]));
        for (int i = 0; i < N; i++) c[i] = dot(w + (2 * N + i) * N, x) + r[i] * dot(u + (2 * N + i) * N, h);
        for (int i = 0; i < N; i++) h[i] = z[i] * h[i] + (1 - z[i]) * (sizeof(real) == 4 ? tanhf(c[i]) : tanh(c[i]));
    }
}
int main(void)
{
    real *x = memory(STEPS * N, sizeof(real)), *w = memory(3 * N * N, sizeof(real)), *u = memory(3 * N * N, sizeof(real)), y[N];
    for (long i = 0; i < STEPS * N; i++) x[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < 3 * N * N; i++) w[i] = datum(i, 7907) - 0.5, u[i] = datum(i, 7901) - 0.5;
    MEASURE(run(y, x, w, u));
    report(checksum(y, N));
}
