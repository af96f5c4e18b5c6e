/* What the machine can do: fused multiply-adds in registers, in the widest vectors and in those of 128 bits, and reading and updating
 * arrays that fit no cache. Prints the number of operations a second and of bytes a second, best of several times. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined __AVX512F__
#define WIDEST 64
#elif defined __AVX__
#define WIDEST 32
#else
#define WIDEST 16
#endif
#define CHAINS 12
#define TIMES 7

typedef float f32s __attribute__((vector_size(WIDEST)));
typedef double f64s __attribute__((vector_size(WIDEST)));
typedef float f32x4 __attribute__((vector_size(16)));
typedef double f64x2 __attribute__((vector_size(16)));

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Independent chains of multiply-adds, as many as hide their latency. */
#define CHAIN(name, scalar, vector) \
    static double name(long rounds) \
    { \
        vector sum[CHAINS], x = {0}, y = {0}; \
        x += (scalar)0.999; \
        y += (scalar)0.001; \
        for (int c = 0; c < CHAINS; c++) sum[c] = x * (scalar)c; \
        for (long r = 0; r < rounds; r++) { \
            _Pragma("GCC unroll 12") for (int c = 0; c < CHAINS; c++) sum[c] = sum[c] * x + y; \
            __asm__ volatile("" : "+v"(x), "+v"(y)); \
        } \
        double total = 0; \
        for (int c = 0; c < CHAINS; c++) \
            for (unsigned k = 0; k < sizeof(vector) / sizeof(scalar); k++) total += sum[c][k]; \
        return total; \
    }
CHAIN(chain_f32, float, f32s)
CHAIN(chain_f64, double, f64s)
CHAIN(chain_f32x4, float, f32x4)
CHAIN(chain_f64x2, double, f64x2)

static volatile double sink;

static double rate(double (*chain)(long), int lanes)
{
    const long rounds = 10000000;
    double best = 1e30;
    for (int t = 0; t < TIMES; t++) {
        double start = now(), total = 0;
#pragma omp parallel reduction(+ : total)
        total += chain(rounds);
        sink = total;
        double time = now() - start;
        best = time < best ? time : best;
    }
    return 2.0 * CHAINS * lanes * rounds * omp_get_max_threads() / best;
}

int main(void)
{
    printf("f32 %.6g\n", rate(chain_f32, WIDEST / sizeof(float)));
    printf("f64 %.6g\n", rate(chain_f64, WIDEST / sizeof(double)));
    printf("f32x4 %.6g\n", rate(chain_f32x4, 4));
    printf("f64x2 %.6g\n", rate(chain_f64x2, 2));
    const long n = 40L << 20;
    double *a = aligned_alloc(1 << 21, n * sizeof *a), *b = aligned_alloc(1 << 21, n * sizeof *b);
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) a[i] = b[i] = i % 7;
    double read = 1e30, copy = 1e30;
    for (int t = 0; t < TIMES; t++) {
        double start = now(), total = 0;
#pragma omp parallel for simd reduction(+ : total) schedule(static)
        for (long i = 0; i < n; i++) total += a[i];
        double middle = now();
        sink = total;
#pragma omp parallel for simd schedule(static)
        for (long i = 0; i < n; i++) b[i] = 0.5 * a[i];
        double end = now();
        sink = b[n / 2];
        read = middle - start < read ? middle - start : read;
        copy = end - middle < copy ? end - middle : copy;
    }
    printf("read %.6g\ncopy %.6g\n", n * sizeof *a / read, 2 * n * sizeof *a / copy);
    return 0;
}
