/* STEPS sweeps of a 27-point stencil over a cube of SIZE points along each axis, between two arrays. */
#include "../common/bench.h"
#include <string.h>

#define AT(i, j, k) (((size_t)(i) * SIZE + (j)) * SIZE + (k))

static void sweep(const real *restrict u, real *restrict v, real w[3][3][3])
{
#pragma omp parallel for schedule(static)
    for (int i = 1; i < SIZE - 1; i++)
        for (int j = 1; j < SIZE - 1; j++)
            for (int k = 1; k < SIZE - 1; k++) {
                real sum = 0;
#pragma GCC unroll 3
                for (int a = 0; a < 3; a++)
#pragma GCC unroll 3
                    for (int b = 0; b < 3; b++)
#pragma GCC unroll 3
                        for (int c = 0; c < 3; c++) sum += w[a][b][c] * u[AT(i + a - 1, j + b - 1, k + c - 1)];
                v[AT(i, j, k)] = sum;
            }
}

/* The result is in the array that is returned; u is not changed. */
static real *relax(const real *u, real *v, real *w)
{
    const real of_distance[4] = {(real)0.25, (real)0.0625, (real)0.02, (real)0.0075};
    real weights[3][3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            for (int c = 0; c < 3; c++) weights[a][b][c] = of_distance[abs(a - 1) + abs(b - 1) + abs(c - 1)];
    for (int i = 0; i < SIZE; i++) /* the border */
        for (int j = 0; j < SIZE; j++) {
            int step = i == 0 || i == SIZE - 1 || j == 0 || j == SIZE - 1 ? 1 : SIZE - 1;
            for (int k = 0; k < SIZE; k += step) v[AT(i, j, k)] = w[AT(i, j, k)] = u[AT(i, j, k)];
        }
    sweep(u, v, weights);
    for (int t = 1; t < STEPS; t++) {
        sweep(v, w, weights);
        real *swap = v;
        v = w;
        w = swap;
    }
    return v;
}

int main(void)
{
    size_t n = (size_t)SIZE * SIZE * SIZE;
    real *u = memory(n, sizeof(real)), *v = memory(n, sizeof(real)), *w = memory(n, sizeof(real)), *result;
    for (size_t i = 0; i < n; i++) u[i] = (real)datum(i, 7919);
    MEASURE(result = relax(u, v, w));
    report(checksum(result, n));
    return 0;
}
