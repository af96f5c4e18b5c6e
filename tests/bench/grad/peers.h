/* For the C programs of tests/bench/grad, whose derivatives are written by hand: data and checksums of Rows.sac. Without GRADIENT the objective is measured. */
#include "../common/bench.h"
#include <stdint.h>
#include <string.h>

/* 24 bits that look random: number i of series k. */
static inline uint32_t bits(uint32_t i, uint32_t k)
{
    uint32_t x = i * 2654435769u + k * 40503u + 1u;
    x = (x ^ (x >> 15)) * 2246822519u;
    x = (x ^ (x >> 13)) * 3266489917u;
    return (x ^ (x >> 16)) >> 8;
}

/* n numbers of series k, from -0.5 to 0.5, times `scale`, plus `shift`. */
static inline double *spread(size_t n, int k, double scale, double shift)
{
    double *a = memory(n, sizeof(double));
    for (size_t i = 0; i < n; i++) a[i] = (bits(i, k) * 0x1p-24 - 0.5) * scale + shift;
    return a;
}

static inline double digest(const double *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (1 + i % 3) * (a[i] + 2 * fabs(a[i]));
    return sum;
}

/* Measures the objective, which fills n numbers, or its derivative, which fills m. */
#ifdef GRADIENT
#define COMPARE(objective, value, n, gradient, slope, m) MEASURE(gradient); report(digest(slope, m))
#else
#define COMPARE(objective, value, n, gradient, slope, m) MEASURE(objective); report(digest(value, n))
#endif
