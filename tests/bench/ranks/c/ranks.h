/* For the MPI programs of the benchmarks: which rows a rank owns, timing, checksums over all ranks. */
#include <mpi.h>
#include "../../common/bench.h"

#ifdef FLOAT
#define REAL MPI_FLOAT
#else
#define REAL MPI_DOUBLE
#endif

static int rank, ranks;

static void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

/* Rank r owns the indices first(n, r) to first(n, r + 1) of n. */
static inline long first(long n, int r) { return n * r / ranks; }
static inline long own(long n) { return first(n, rank + 1) - first(n, rank); }

/* What the Allgatherv of n objects of `width` elements wants to know. */
typedef struct { int *counts, *starts; } shares;

static inline shares shares_of(long n, int width)
{
    shares s = {malloc(ranks * sizeof(int)), malloc(ranks * sizeof(int))};
    for (int r = 0; r < ranks; r++) {
        s.starts[r] = (int)first(n, r) * width;
        s.counts[r] = (int)first(n, r + 1) * width - s.starts[r];
    }
    return s;
}

/* The parts of `all` that the ranks own, everywhere. */
static inline void gather(real *all, shares s)
{
    MPI_Allgatherv(MPI_IN_PLACE, 0, REAL, all, s.counts, s.starts, REAL, MPI_COMM_WORLD);
}

/* `statement` once to warm up, then MOST times; each time begins and ends for all ranks together, and rank 0 prints it. */
#define MEASURE_RANKS(statement) \
    do { \
        statement; \
        if (rank == 0) printf("seconds"); \
        for (int runs = 0; runs < MOST; runs++) { \
            MPI_Barrier(MPI_COMM_WORLD); \
            double start = now(); \
            statement; \
            MPI_Barrier(MPI_COMM_WORLD); \
            if (rank == 0) printf(" %.9f", now() - start); \
        } \
        if (rank == 0) printf("\n"); \
    } while (0)

/* The part of a checksum for n elements, of which the first is number `from` of the whole array. */
static inline double checksum_from(const real *a, long n, long from)
{
    double sum = 0;
    for (long i = 0; i < n; i++) sum += (1 + (from + i) % 3) * (double)a[i];
    return sum;
}

/* Prints the sum of what the ranks have, and ends. */
static int finish(double part)
{
    double sum = 0;
    MPI_Reduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) report(sum);
    MPI_Finalize();
    return 0;
}
