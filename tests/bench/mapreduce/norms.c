/* The sum of the lengths of SIZE vectors in the plane. */
#include "../common/bench.h"

static real norms(const real *a, const real *b)
{
    real sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (int i = 0; i < SIZE; i++) sum += SQRT(a[i] * a[i] + b[i] * b[i]);
    return sum;
}

int main(void)
{
    real *a = memory(SIZE, sizeof(real)), *b = memory(SIZE, sizeof(real)), total;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < SIZE; i++) {
        a[i] = (real)datum(i, 7919);
        b[i] = (real)datum(i, 104729);
    }
    MEASURE(total = norms(a, b));
    report(total);
    return 0;
}
