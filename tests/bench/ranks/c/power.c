/* STEPS products of a SIZE x SIZE matrix and a vector, which is made a unit vector again each time. Ranks have rows. */
#include "ranks.h"

static void iterate(const real *a, real *x, shares all)
{
    long from = first(SIZE, rank), rows = own(SIZE);
    real *y = x + SIZE;
    for (int j = 0; j < SIZE; j++) x[j] = 1;
    for (int t = 0; t < STEPS; t++) {
        real norm2 = 0;
        for (long i = 0; i < rows; i++) {
            real sum = 0;
            for (int j = 0; j < SIZE; j++) sum += a[i * SIZE + j] * x[j];
            y[i] = sum;
            norm2 += sum * sum;
        }
        MPI_Allreduce(MPI_IN_PLACE, &norm2, 1, REAL, MPI_SUM, MPI_COMM_WORLD);
        for (long i = 0; i < rows; i++) x[from + i] = y[i] / SQRT(norm2);
        gather(x, all);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    long from = first(SIZE, rank) * SIZE, n = own(SIZE) * SIZE;
    real *a = memory(n, sizeof(real)), *x = memory(2 * SIZE, sizeof(real));
    shares all = shares_of(SIZE, 1);
    for (long i = 0; i < n; i++) a[i] = (real)datum(from + i, 7919);
    MEASURE_RANKS(iterate(a, x, all));
    return finish(rank == 0 ? checksum(x, SIZE) : 0);
}
