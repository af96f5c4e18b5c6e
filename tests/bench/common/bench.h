/* For the C programs of the benchmarks: the element type, data, timing, checksums; the same as in measure.h and
 * Measure.sac for the SaC programs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef FLOAT
typedef float real;
#define EXP expf
#define SQRT sqrtf
#else
typedef double real;
#define EXP exp
#define SQRT sqrt
#endif

#ifndef BUDGET
#define BUDGET 0.3
#endif
#ifndef MOST
#define MOST 50
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* `statement` once to warm up, and then again and again; prints the seconds of each time but the first. */
#define MEASURE(statement) \
    do { \
        double spent = 0; \
        statement; \
        printf("seconds"); \
        for (int runs = 0; runs == 0 || (spent < BUDGET && runs < MOST); runs++) { \
            double start = now(); \
            statement; \
            double time = now() - start; \
            spent += time; \
            printf(" %.9f", time); \
        } \
        printf("\n"); \
    } while (0)

/* Datum number i of series k, one of 1009 numbers in [0, 1). */
static inline double datum(long i, long k) { return (double)(i % 1009 * k % 1009) / 1009; }

/* Memory for n objects of a size, on a boundary of a huge page. */
static inline void *memory(size_t n, size_t size)
{
    size_t huge = 1 << 21;
    return aligned_alloc(huge, (n * size + huge - 1) / huge * huge);
}

static inline double checksum(const real *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (1 + i % 3) * (double)a[i];
    return sum;
}

static inline double checksum_int(const int *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (1 + i % 3) * (double)a[i];
    return sum;
}

static inline void report(double check) { printf("check %.15g\n", check); }
