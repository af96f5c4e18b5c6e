/* A vector of SIZE elements times a number plus a vector. */
#include "../common/bench.h"

static void axpy(real a, const real *restrict x, const real *restrict y, real *restrict z)
{
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < SIZE; i++) z[i] = a * x[i] + y[i];
}

int main(void)
{
    real *x = memory(SIZE, sizeof(real)), *y = memory(SIZE, sizeof(real)), *z = memory(SIZE, sizeof(real));
#pragma omp parallel for schedule(static)
    for (int i = 0; i < SIZE; i++) {
        x[i] = (real)datum(i, 7919);
        y[i] = (real)datum(i, 104729);
    }
    MEASURE(axpy((real)0.75, x, y, z));
    report(checksum(z, SIZE));
    return 0;
}
