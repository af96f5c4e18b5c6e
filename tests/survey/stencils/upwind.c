#include "../survey_c.h"
#define N SIZE(40, 6)
#define AT(i, j, k) u[((i) * N + (j)) * N + (k)]
static real slope(real v, real before, real here, real behind) { return v > 0 ? v * (here - before) : v * (behind - here); }
static void advect(real *restrict y, const real *restrict u, const real *restrict v)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int up = (i + N - 1) % N, down = (i + 1) % N, left = (j + N - 1) % N, right = (j + 1) % N;
            for (int k = 0; k < N; k++) {
                int at = (i * N + j) * N + k;
                y[at] = u[at] - (real)0.1 *
                    (slope(v[at], AT(up, j, k), u[at], AT(down, j, k)) + slope(v[N * N * N + at], AT(i, left, k), u[at], AT(i, right, k)) +
                     slope(v[2 * N * N * N + at], AT(i, j, k == 0 ? N - 1 : k - 1), u[at], AT(i, j, k == N - 1 ? 0 : k + 1)));
            }
        }
}
int main(void)
{
    size_t n = N * N * N;
    real *u = memory(n, sizeof(real)), *v = memory(3 * n, sizeof(real)), *y = memory(n, sizeof(real)), *t = memory(n, sizeof(real));
    for (size_t i = 0; i < n; i++) u[i] = datum(i, 7919) - 0.5;
    for (size_t i = 0; i < 3 * n; i++) v[i] = datum(i, 7907) - 0.5;
    MEASURE((advect(t, u, v), advect(y, t, v)));
    report(checksum(y, n));
}
