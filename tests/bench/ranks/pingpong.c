// What a message takes between two ranks: prints latency, overhead and gap per byte of LogGP, in seconds.
//
//     mpicc -O2 pingpong.c -o pingpong && mpirun -n 2 ./pingpong
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { TIMES = 2000, BURST = 64, LARGE = 32 << 20, HUGE_PAGE = 2 << 20, LARGE_TIMES = 9 };

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int n)
{
    qsort(times, n, sizeof *times, compare);
    return times[n / 2];
}

// There and back, by half.
static double message(int rank)
{
    static double times[TIMES];
    char word[8] = {0};
    for (int k = 0; k < TIMES; k++) {
        double start = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        times[k] = (MPI_Wtime() - start) / 2;
    }
    return median(times, TIMES);
}

// What the sender does itself: several messages that nobody answers.
static double overhead(int rank)
{
    static double times[TIMES / BURST];
    char word[8] = {0};
    for (int k = 0; k < TIMES / BURST; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < BURST; i++) {
            if (rank == 0)
                MPI_Send(word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        times[k] = (MPI_Wtime() - start) / BURST;
    }
    return median(times, TIMES / BURST);
}

// More bytes than caches hold, in both directions at once, by the operation that gathers rows, in huge pages as Ravel's arrays have them.
static double gap(int rank)
{
    double times[LARGE_TIMES];
    int counts[2] = {LARGE, LARGE}, starts[2] = {0, LARGE};
    char *all = aligned_alloc(HUGE_PAGE, 2 * (size_t)LARGE);
    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    madvise(all, 2 * (size_t)LARGE, MADV_HUGEPAGE);
    memset(all, rank, 2 * (size_t)LARGE);
    for (int k = 0; k < LARGE_TIMES; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all, counts, starts, MPI_BYTE, MPI_COMM_WORLD);
        times[k] = MPI_Wtime() - start;
    }
    free(all);
    return median(times, LARGE_TIMES) / LARGE;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        if (rank == 0)
            fprintf(stderr, "pingpong: two ranks, not %d\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    message(rank);
    double whole = message(rank), own = overhead(rank), byte = gap(rank);
    if (2 * own > whole)
        own = whole / 2;
    if (rank == 0)
        printf("%.3e %.3e %.3e\n", whole - 2 * own, own, byte);
    MPI_Finalize();
    return 0;
}
