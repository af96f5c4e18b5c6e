/* How often each of BINS values occurs among SIZE numbers. */
#include "../common/bench.h"

static void histogram(const int *values, int *counts)
{
    for (int b = 0; b < BINS; b++) counts[b] = 0;
#pragma omp parallel for schedule(static) reduction(+ : counts[ : BINS])
    for (int i = 0; i < SIZE; i++) counts[values[i]]++;
}

int main(void)
{
    int *values = memory(SIZE, sizeof(int)), counts[BINS];
    for (int i = 0; i < SIZE; i++) values[i] = (int)(BINS * datum(i, 7919) * datum(i + i / 1009, 104729));
    MEASURE(histogram(values, counts));
    report(checksum_int(counts, BINS));
    return 0;
}
