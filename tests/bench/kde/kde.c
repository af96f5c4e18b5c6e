/* A density from SIZE observations, at SIZE places. */
#include "../common/bench.h"

static void density(const real *restrict places, const real *restrict data, real h, real *restrict d)
{
    const real scale = 1 / (SIZE * h * SQRT(2 * (real)M_PI)), reciprocal = 1 / h;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < SIZE; i++) {
        real sum = 0;
        for (int j = 0; j < SIZE; j++) {
            real u = (places[i] - data[j]) * reciprocal;
            sum += EXP((real)-0.5 * u * u);
        }
        d[i] = scale * sum;
    }
}

int main(void)
{
    real *data = memory(SIZE, sizeof(real)), *places = memory(SIZE, sizeof(real)), *d = memory(SIZE, sizeof(real));
    for (int i = 0; i < SIZE; i++) {
        data[i] = (real)(datum(i, 7919) + datum(i, 104729) * datum(i, 104723));
        places[i] = (real)(2.0 * i / SIZE);
    }
    MEASURE(density(places, data, (real)0.05, d));
    report(checksum(d, SIZE));
    return 0;
}
