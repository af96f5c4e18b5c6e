/* Matrix product as a loop nest whose inner loop runs along rows. */
#include "../common/bench.h"

static void product(const real *restrict a, const real *restrict b, real *restrict c)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) c[i * SIZE + j] = 0;
        for (int p = 0; p < SIZE; p++)
            for (int j = 0; j < SIZE; j++) c[i * SIZE + j] += a[i * SIZE + p] * b[p * SIZE + j];
    }
}

int main(void)
{
    size_t n = (size_t)SIZE * SIZE;
    real *a = memory(n, sizeof(real)), *b = memory(n, sizeof(real)), *c = memory(n, sizeof(real));
    for (size_t i = 0; i < n; i++) {
        a[i] = (real)(datum(i, 7919) - 0.5);
        b[i] = (real)datum(i, 104729);
    }
    MEASURE(product(a, b, c));
    report(checksum(c, n));
    return 0;
}
