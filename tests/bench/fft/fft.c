/* The Fourier transform of SIZE complex numbers, a power of two, by Stockham's method. */
#include "../common/bench.h"
#include <string.h>

typedef struct { real re, im; } complex;

/* The result is in the array that is returned; x is not changed. */
static complex *fft(const complex *x, complex *y, complex *z, const complex *w)
{
    for (int m = SIZE / 2, s = 1; m > 0; m /= 2, s *= 2) {
#pragma omp parallel for schedule(static) if (m > 64)
        for (int p = 0; p < m; p++) {
            const complex root = w[p * s];
            const complex *restrict a = x + p * s, *restrict b = x + (p + m) * s;
            complex *restrict even = y + 2 * p * s, *restrict odd = even + s;
            for (int q = 0; q < s; q++) {
                real re = a[q].re - b[q].re, im = a[q].im - b[q].im;
                even[q] = (complex){a[q].re + b[q].re, a[q].im + b[q].im};
                odd[q] = (complex){re * root.re - im * root.im, re * root.im + im * root.re};
            }
        }
        complex *done = y;
        x = done;
        y = z;
        z = done;
    }
    return z;
}

int main(void)
{
    complex *x = memory(SIZE, sizeof *x), *y = memory(SIZE, sizeof *x), *z = memory(SIZE, sizeof *x);
    complex *w = memory(SIZE / 2, sizeof *x), *result;
    for (long i = 0; i < SIZE; i++) x[i] = (complex){(real)(datum(2 * i, 7919) - 0.5), (real)(datum(2 * i + 1, 7919) - 0.5)};
    for (long p = 0; p < SIZE / 2; p++) {
        double angle = -2 * M_PI * p / SIZE;
        w[p] = (complex){(real)cos(angle), (real)sin(angle)};
    }
    MEASURE(result = fft(x, y, z, w));
    real *f = (real *)result;
    for (long i = 0; i < 2L * SIZE; i++) f[i] = fabs(f[i]);
    report(checksum(f, 2 * (size_t)SIZE));
    return 0;
}
