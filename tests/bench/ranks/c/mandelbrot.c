/* Escape times of the Mandelbrot set on SIZE x SIZE points, at most LIMIT steps each. Rows take unlike times: they are
 * dealt out in turn. */
#include "ranks.h"

static void mandelbrot(int *times)
{
    const real h = (real)2.5 / SIZE;
    for (int i = rank; i < SIZE; i += ranks)
        for (int j = 0; j < SIZE; j++) {
            real x = h * j - 2, y = h * i - (real)1.25, re = 0, im = 0;
            int n = 0;
            while (n < LIMIT && re * re + im * im <= 4) {
                real next = re * re - im * im + x;
                im = 2 * re * im + y;
                re = next;
                n++;
            }
            *times++ = n;
        }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int *times = memory((size_t)(SIZE / ranks + 1) * SIZE, sizeof(int));
    MEASURE_RANKS(mandelbrot(times));
    double sum = 0;
    for (long i = rank, k = 0; i < SIZE; i += ranks)
        for (long j = 0; j < SIZE; j++) sum += (1 + (i * SIZE + j) % 3) * (double)times[k++];
    return finish(sum);
}
