/* The prefix sums of SIZE numbers. */
#include "../common/bench.h"

static void prefix_sums(const real *restrict v, real *restrict sums)
{
    real sum = 0;
    for (int i = 0; i < SIZE; i++) {
        sum += v[i];
        sums[i] = sum;
    }
}

int main(void)
{
    real *v = memory(SIZE, sizeof(real)), *sums = memory(SIZE, sizeof(real));
    for (int i = 0; i < SIZE; i++) v[i] = (real)(datum(i, 7919) - 0.5);
    MEASURE(prefix_sums(v, sums));
    report(checksum(sums, SIZE));
    return 0;
}
