#include "../survey_c.h"
#define N SIZE(400000, 300)
static void line(real *restrict r, const real *restrict x, const real *restrict y, int n)
{
    real mx = 0, my = 0, uv = 0, uu = 0, squares = 0, most = 0;
    int above = 0;
    for (int i = 0; i < n; i++) mx += x[i], my += y[i];
    mx /= n, my /= n;
    for (int i = 0; i < n; i++) uv += (x[i] - mx) * (y[i] - my), uu += (x[i] - mx) * (x[i] - mx);
    real slope = uv / uu;
    for (int i = 0; i < n; i++) {
        real rest = y[i] - my - slope * (x[i] - mx);
        squares += rest * rest;
        most = fabs(rest) > most ? fabs(rest) : most;
        above += rest > 0;
    }
    r[0] = slope, r[1] = SQRT(squares), r[2] = most, r[3] = above;
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real)), r[4];
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5, y[i] = (real)(datum(i, 7919) - 0.5) / 2 + (real)(datum(i, 104729) - 0.5);
    MEASURE(line(r, x, y, N));
    report(checksum(r, 4));
}
