#include "../survey_c.h"
#define N SIZE(40000, 60)
#define STEPS SIZE(50, 5)
static real *diffuse(const real *u, real *to, real *other, real left, real right)
{
    for (int t = 0; t < STEPS; t++) {
        to[0] = left, to[N - 1] = right;
        for (int i = 1; i < N - 1; i++) to[i] = u[i] + (real)0.3 * (u[i - 1] - 2 * u[i] + u[i + 1]);
        real *swap = other;
        u = other = to, to = swap;
    }
    return other;
}
int main(void)
{
    real *u = memory(N, sizeof(real)), *a = memory(N, sizeof(real)), *b = memory(N, sizeof(real)), *y;
    for (long i = 0; i < N; i++) u[i] = datum(i, 7919) - 0.5;
    MEASURE(y = diffuse(u, a, b, 1, -1));
    report(checksum(y, N));
}
