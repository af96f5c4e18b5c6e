#include "../survey_c.h"
#define N SIZE(400, 12)
#define STEPS SIZE(10, 3)
static real *buffers[3];
static void step(real *restrict y, const real *restrict u, const real *restrict v)
{
    for (int j = 0; j < N; j++) y[j] = u[j], y[(N - 1) * N + j] = u[(N - 1) * N + j];
    for (int i = 1; i < N - 1; i++) {
        y[i * N] = u[i * N], y[i * N + N - 1] = u[i * N + N - 1];
        for (int j = i * N + 1; j < i * N + N - 1; j++)
            y[j] = 2 * u[j] - v[j] + (real)0.25 * (u[j - N] + u[j + N] + u[j - 1] + u[j + 1] - 4 * u[j]);
    }
}
static const real *wave(const real *u, const real *v)
{
    for (int t = 0; t < STEPS; t++) {
        step(buffers[t % 3], u, v);
        v = u, u = buffers[t % 3];
    }
    return u;
}
int main(void)
{
    real *u = memory(N * N, sizeof(real)), *v = memory(N * N, sizeof(real));
    const real *y;
    for (int k = 0; k < 3; k++) buffers[k] = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) u[i] = datum(i, 7919) - 0.5, v[i] = datum(i, 7907) - 0.5;
    MEASURE(y = wave(u, v));
    report(checksum(y, N * N));
}
