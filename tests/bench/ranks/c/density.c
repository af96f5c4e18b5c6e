/* A density from SIZE observations, at SIZE places; ranks have places, and all have the observations. */
#include "ranks.h"

static void density(const real *places, long m, const real *data, real h, real *d)
{
    const real scale = 1 / (SIZE * h * SQRT((real)(2 * M_PI)));
    for (long i = 0; i < m; i++) {
        real sum = 0;
        for (int j = 0; j < SIZE; j++) {
            real u = (places[i] - data[j]) / h;
            sum += EXP((real)-0.5 * u * u);
        }
        d[i] = scale * sum;
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    long from = first(SIZE, rank), m = own(SIZE);
    real *data = memory(SIZE, sizeof(real)), *places = memory(m, sizeof(real)), *d = memory(m, sizeof(real));
    for (long i = 0; i < SIZE; i++) data[i] = (real)(datum(i, 7919) + datum(i, 104729) * datum(i, 104723));
    for (long i = 0; i < m; i++) places[i] = (real)(2.0 * (from + i) / SIZE);
    MEASURE_RANKS(density(places, m, data, (real)0.05, d));
    return finish(checksum_from(d, m, from));
}
