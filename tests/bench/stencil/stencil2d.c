/* STEPS sweeps of the mean of four neighbors over SIZE x SIZE points, between two arrays. */
#include "../common/bench.h"
#include <string.h>

static void sweep(const real *restrict u, real *restrict v)
{
#pragma omp parallel for schedule(static)
    for (int i = 1; i < SIZE - 1; i++) {
        const real *c = u + (size_t)i * SIZE;
        real *out = v + (size_t)i * SIZE;
        for (int j = 1; j < SIZE - 1; j++)
            out[j] = (real)0.25 * (c[j - SIZE] + c[j + SIZE] + c[j - 1] + c[j + 1]);
    }
}

/* The result is in the array that is returned; u is not changed. */
static real *relax(const real *u, real *v, real *w)
{
    size_t bytes = (size_t)SIZE * SIZE * sizeof(real);
    for (int side = 0; side < 2; side++) { /* the border */
        real *a = side ? v : w;
        memcpy(a, u, SIZE * sizeof(real));
        memcpy((char *)a + bytes - SIZE * sizeof(real), (const char *)u + bytes - SIZE * sizeof(real), SIZE * sizeof(real));
        for (size_t i = 1; i < SIZE - 1; i++) {
            a[i * SIZE] = u[i * SIZE];
            a[i * SIZE + SIZE - 1] = u[i * SIZE + SIZE - 1];
        }
    }
    sweep(u, v);
    for (int t = 1; t < STEPS; t++) {
        sweep(v, w);
        real *swap = v;
        v = w;
        w = swap;
    }
    return v;
}

int main(void)
{
    size_t n = (size_t)SIZE * SIZE;
    real *u = memory(n, sizeof(real)), *v = memory(n, sizeof(real)), *w = memory(n, sizeof(real)), *result;
    for (size_t i = 0; i < n; i++) u[i] = (real)datum(i, 7919);
    MEASURE(result = relax(u, v, w));
    report(checksum(result, n));
    return 0;
}
