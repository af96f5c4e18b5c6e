/* Escape times of the Mandelbrot set on SIZE x SIZE points, at most LIMIT steps each. */
#include "../common/bench.h"

static int escape_time(real x, real y, int limit)
{
    real re = 0, im = 0;
    int n = 0;
    while (n < limit && re * re + im * im <= 4) {
        real next = re * re - im * im + x;
        im = 2 * re * im + y;
        re = next;
        n++;
    }
    return n;
}

static void mandelbrot(int *times)
{
    real h = (real)2.5 / SIZE;
#pragma omp parallel for schedule(dynamic, 8)
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            times[i * SIZE + j] = escape_time(h * (real)j - 2, h * (real)i - (real)1.25, LIMIT);
}

int main(void)
{
    size_t n = (size_t)SIZE * SIZE;
    int *times = memory(n, sizeof(int));
    MEASURE(mandelbrot(times));
    report(checksum_int(times, n));
    return 0;
}
