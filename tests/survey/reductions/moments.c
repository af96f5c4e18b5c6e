#include "../survey_c.h"
#define N SIZE(100000, 200)
static void statistics(real *restrict y, const real *restrict x, int size)
{
    real n = 0, mean = 0, squares = 0, cubes = 0;
    for (int i = 0; i < size; i++) {
        real old = n, d = x[i] - mean, p, q;
        n += 1;
        p = 1 / n;
        q = 1 - p;
        mean += d * p;
        cubes += d * d * d * old * p * (q - p) - 3 * d * p * squares;
        squares += d * d * old * p;
    }
    y[0] = mean, y[1] = squares / n, y[2] = cubes / n;
}
int main(void)
{
    real *x = memory(N, sizeof(real)), y[3];
    for (long i = 0; i < N; i++) x[i] = (real)(datum(i, 7919) - 0.5) * (real)(datum(i, 7919) - 0.5);
    MEASURE(statistics(y, x, N));
    report(checksum(y, 3));
}
