/* Square roots of SIZE numbers by STEPS iterations of Newton's: every element by itself, array after array. */
#include "ranks.h"

static void roots(const real *restrict a, real *restrict x, long n)
{
    for (long i = 0; i < n; i++) x[i] = 1;
    for (int t = 0; t < STEPS; t++)
        for (long i = 0; i < n; i++) x[i] = (real)0.5 * (x[i] + a[i] / x[i]);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    long from = first(SIZE, rank), n = own(SIZE);
    real *a = memory(n, sizeof(real)), *x = memory(n, sizeof(real));
    for (long i = 0; i < n; i++) a[i] = (real)(1 + datum(from + i, 7919));
    MEASURE_RANKS(roots(a, x, n));
    return finish(checksum_from(x, n, from));
}
