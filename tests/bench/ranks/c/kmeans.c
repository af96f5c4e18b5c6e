/* STEPS improvements of COUNT centers of SIZE points in space; ranks have points, and all have the centers. */
#include "ranks.h"
#include <string.h>

#define D 3

static void kmeans(const real *points, long n, real *centers)
{
    if (rank == 0) memcpy(centers, points, COUNT * D * sizeof(real));
    MPI_Bcast(centers, COUNT * D, REAL, 0, MPI_COMM_WORLD);
    for (int t = 0; t < STEPS; t++) {
        real total[COUNT * D] = {0};
        int members[COUNT] = {0};
        for (long i = 0; i < n; i++) {
            int best = 0;
            real least = INFINITY;
            for (int c = 0; c < COUNT; c++) {
                real distance = 0;
                for (int j = 0; j < D; j++) {
                    real x = points[i * D + j] - centers[c * D + j];
                    distance += x * x;
                }
                if (distance < least) {
                    best = c;
                    least = distance;
                }
            }
            for (int j = 0; j < D; j++) total[best * D + j] += points[i * D + j];
            members[best]++;
        }
        MPI_Allreduce(MPI_IN_PLACE, total, COUNT * D, REAL, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, members, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int c = 0; c < COUNT; c++)
            for (int j = 0; j < D && members[c]; j++) centers[c * D + j] = total[c * D + j] / members[c];
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    long from = first(SIZE, rank), n = own(SIZE);
    real *points = memory(n * D, sizeof(real)), centers[COUNT * D];
    for (long i = from; i < from + n; i++)
        for (int j = 0; j < D; j++)
            points[(i - from) * D + j] = (real)((i + 2 * j) % COUNT + datum(3 * i + j, 7919) * datum(i, 104729));
    MEASURE_RANKS(kmeans(points, n, centers));
    return finish(rank == 0 ? checksum(centers, COUNT * D) : 0);
}
