#include "../survey_c.h"
#define N SIZE(200000, 300)
static void hits(int *restrict y, unsigned seed, int n)
{
    int hit = 0, near = 0;
    for (int i = 0; i < n; i++) {
        double x, y, r;
        seed = seed * 1664525u + 1013904223u;
        x = (int)(seed >> 8) / 16777216.0;
        seed = seed * 1664525u + 1013904223u;
        y = (int)(seed >> 8) / 16777216.0;
        r = x * x + y * y;
        hit += r < 1;
        near += r < 0.25;
    }
    y[0] = hit;
    y[1] = near;
}
int main(void)
{
    volatile unsigned seed = 12345;
    int y[2];
    MEASURE(hits(y, seed, N));
    report(checksum_int(y, 2));
}
