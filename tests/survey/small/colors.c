#include "../survey_c.h"
#define N SIZE(1000, 10)
static unsigned char clamp(int x) { return x < 0 ? 0 : x > 255 ? 255 : x; }
static void all_converted(unsigned char *restrict y, const unsigned char *restrict a)
{
    for (int i = 0; i < N * N; i++) {
        int r = a[3 * i], g = a[3 * i + 1], b = a[3 * i + 2];
        y[3 * i] = clamp((66 * r + 129 * g + 25 * b + 128) / 256 + 16);
        y[3 * i + 1] = clamp((-38 * r - 74 * g + 112 * b + 128 + 32768) / 256);
        y[3 * i + 2] = clamp((112 * r - 94 * g - 18 * b + 128 + 32768) / 256);
    }
}
int main(void)
{
    unsigned char *a = memory(3 * N * N, 1), *y = memory(3 * N * N, 1);
    int *z = memory(3 * N * N, sizeof(int));
    for (int i = 0; i < 3 * N * N; i++) a[i] = i % 1009 * 7919 % 1009 % 256;
    MEASURE(all_converted(y, a));
    for (int i = 0; i < 3 * N * N; i++) z[i] = y[i];
    report(checksum_int(z, 3 * N * N));
}
