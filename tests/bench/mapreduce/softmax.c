/* The softmax of a vector of SIZE elements. */
#include "../common/bench.h"

static void softmax(const real *restrict a, real *restrict p)
{
    real most = a[0], sum = 0;
#pragma omp parallel for simd schedule(static) reduction(max : most)
    for (int i = 0; i < SIZE; i++) most = a[i] > most ? a[i] : most;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (int i = 0; i < SIZE; i++) {
        p[i] = EXP(a[i] - most);
        sum += p[i];
    }
    real scale = 1 / sum;
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < SIZE; i++) p[i] *= scale;
}

int main(void)
{
    real *a = memory(SIZE, sizeof(real)), *p = memory(SIZE, sizeof(real));
#pragma omp parallel for schedule(static)
    for (int i = 0; i < SIZE; i++) a[i] = (real)(10 * datum(i, 7919));
    MEASURE(softmax(a, p));
    report(SIZE * checksum(p, SIZE));
    return 0;
}
