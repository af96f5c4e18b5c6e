/* STEPS sweeps of the mean of four neighbors over SIZE x SIZE points. A rank has its rows and, before and behind them,
 * a row of each neighbor; these travel while the rows that need none of them are computed. */
#include "ranks.h"
#include <string.h>

static long rows; /* of this rank; they are rows 1 to `rows` of its arrays */

static void exchange(real *u, MPI_Request *requests)
{
    int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    MPI_Irecv(u, SIZE, REAL, up, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(u + (rows + 1) * SIZE, SIZE, REAL, down, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(u + SIZE, SIZE, REAL, up, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(u + rows * SIZE, SIZE, REAL, down, 0, MPI_COMM_WORLD, &requests[3]);
}

static void sweep_rows(const real *restrict u, real *restrict v, long from, long to)
{
    for (long i = from; i <= to; i++) {
        const real *c = u + i * SIZE;
        real *out = v + i * SIZE;
        for (int j = 1; j < SIZE - 1; j++)
            out[j] = (real)0.25 * (c[j - SIZE] + c[j + SIZE] + c[j - 1] + c[j + 1]);
    }
}

static void sweep(real *u, real *v)
{
    MPI_Request requests[4];
    exchange(u, requests);
    sweep_rows(u, v, 2, rows - 1);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (rank > 0) sweep_rows(u, v, 1, 1);
    if (rank < ranks - 1) sweep_rows(u, v, rows, rows);
}

/* The result is in the array that is returned; the rows of u are not changed. */
static real *relax(real *u, real *v, real *w)
{
    for (int side = 0; side < 2; side++) { /* the border */
        real *a = side ? v : w;
        if (rank == 0) memcpy(a + SIZE, u + SIZE, SIZE * sizeof(real));
        if (rank == ranks - 1) memcpy(a + rows * SIZE, u + rows * SIZE, SIZE * sizeof(real));
        for (long i = 1; i <= rows; i++) {
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

int main(int argc, char **argv)
{
    start(&argc, &argv);
    rows = own(SIZE);
    long from = first(SIZE, rank) * SIZE, n = rows * SIZE;
    size_t with_neighbors = (size_t)(rows + 2) * SIZE;
    real *u = memory(with_neighbors, sizeof(real)), *v = memory(with_neighbors, sizeof(real)),
         *w = memory(with_neighbors, sizeof(real)), *result;
    for (long i = 0; i < n; i++) u[SIZE + i] = (real)datum(from + i, 7919);
    MEASURE_RANKS(result = relax(u, v, w));
    return finish(checksum_from(result + SIZE, n, from));
}
