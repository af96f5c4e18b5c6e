/* Matrix product; ranks have rows of all three matrices. The rows of b go round, one owner after the other: the next
 * ones travel while those that are there are multiplied. */
#include "ranks.h"
#include <string.h>

#ifdef __AVX512F__
enum { TILE = 12, BYTES = 64 };
#else
enum { TILE = 6, BYTES = 32 };
#endif
enum { LANES = BYTES / sizeof(real), WIDTH = 2 * LANES, DEPTH = 256 };
typedef real vector __attribute__((vector_size(BYTES)));
typedef real anywhere __attribute__((vector_size(BYTES), aligned(sizeof(real)), may_alias));

/* c += the product of TILE rows of a and WIDTH packed columns of b, summed up in registers. */
static inline void tile(const real *restrict a, const vector *restrict packed, long depth, real *restrict c)
{
    vector sum[TILE][2] = {{{0}}};
    for (long p = 0; p < depth; p++)
#pragma GCC unroll 12
        for (int i = 0; i < TILE; i++) {
            sum[i][0] += a[i * SIZE + p] * packed[2 * p];
            sum[i][1] += a[i * SIZE + p] * packed[2 * p + 1];
        }
#pragma GCC unroll 12
    for (int i = 0; i < TILE; i++) {
        *(anywhere *)(c + i * SIZE) += sum[i][0];
        *(anywhere *)(c + i * SIZE + LANES) += sum[i][1];
    }
}

/* c += columns from .. from + depth of a, times the rows of b. */
static void multiply(const real *a, const real *b, real *c, long rows, long from, long depth)
{
    static vector block[2 * DEPTH];
    real *packed = (real *)block;
    for (long p0 = 0; p0 < depth; p0 += DEPTH) {
        long deep = depth - p0 < DEPTH ? depth - p0 : DEPTH;
        for (long j = 0; j < SIZE; j += WIDTH) {
            long wide = SIZE - j < WIDTH ? SIZE - j : WIDTH;
            for (long p = 0; p < deep; p++) memcpy(packed + p * WIDTH, b + (p0 + p) * SIZE + j, wide * sizeof(real));
            long i = 0;
            if (wide == WIDTH)
                for (; i + TILE <= rows; i += TILE) tile(a + i * SIZE + from + p0, block, deep, c + i * SIZE + j);
            for (; i < rows; i++) /* what is no whole tile */
                for (long p = 0; p < deep; p++)
                    for (long q = 0; q < wide; q++) c[i * SIZE + j + q] += a[i * SIZE + from + p0 + p] * packed[p * WIDTH + q];
        }
    }
}

static void product(const real *a, real *b, real *c, real *panels[2])
{
    MPI_Request request[2];
    long rows = own(SIZE);
    memset(c, 0, rows * SIZE * sizeof(real));
    for (int r = 0; r <= ranks; r++) {
        if (r < ranks) /* the owner sends what it has where it is */
            MPI_Ibcast(r == rank ? b : panels[r % 2], (first(SIZE, r + 1) - first(SIZE, r)) * SIZE, REAL, r, MPI_COMM_WORLD, &request[r % 2]);
        if (r > 0) {
            int owner = r - 1;
            MPI_Wait(&request[owner % 2], MPI_STATUS_IGNORE);
            multiply(a, owner == rank ? b : panels[owner % 2], c, rows, first(SIZE, owner), first(SIZE, owner + 1) - first(SIZE, owner));
        }
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    long from = first(SIZE, rank) * SIZE, n = own(SIZE) * SIZE, most = (SIZE / ranks + 1) * (long)SIZE;
    real *a = memory(n, sizeof(real)), *b = memory(n, sizeof(real)), *c = memory(n, sizeof(real));
    real *panels[2] = {memory(most, sizeof(real)), memory(most, sizeof(real))};
    for (long i = 0; i < n; i++) {
        a[i] = (real)(datum(from + i, 7919) - 0.5);
        b[i] = (real)datum(from + i, 104729);
    }
    MEASURE_RANKS(product(a, b, c, panels));
    return finish(checksum_from(c, n, from));
}
