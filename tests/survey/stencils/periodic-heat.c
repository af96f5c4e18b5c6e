#include "../survey_c.h"
#define N SIZE(300, 12)
#define STEPS SIZE(10, 3)
static real *a, *b;
static void step(real *restrict y, const real *restrict u)
{
    for (int i = 0; i < N; i++) {
        const real *up = u + (i + N - 1) % N * N, *row = u + i * N, *down = u + (i + 1) % N * N;
        y[i * N] = row[0] + (real)0.2 * (up[0] + down[0] + row[N - 1] + row[1] - 4 * row[0]);
        for (int j = 1; j < N - 1; j++)
            y[i * N + j] = row[j] + (real)0.2 * (up[j] + down[j] + row[j - 1] + row[j + 1] - 4 * row[j]);
        y[i * N + N - 1] = row[N - 1] + (real)0.2 * (up[N - 1] + down[N - 1] + row[N - 2] + row[0] - 4 * row[N - 1]);
    }
}
static real *heat(const real *u)
{
    real *from = b, *to = a;
    step(to, u);
    for (int t = 1; t < STEPS; t++) {
        real *swap = from;
        from = to, to = swap;
        step(to, from);
    }
    return to;
}
int main(void)
{
    real *u = memory(N * N, sizeof(real)), *y;
    a = memory(N * N, sizeof(real)), b = memory(N * N, sizeof(real));
    for (long i = 0; i < N * N; i++) u[i] = datum(i, 7919) - 0.5;
    MEASURE(y = heat(u));
    report(checksum(y, N * N));
}
