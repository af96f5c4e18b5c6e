#include "../survey_c.h"
#define N SIZE(900, 12)
#define M (N - 2)
typedef unsigned char byte;
static void edges(int *restrict y, int *restrict g, const byte *restrict p)
{
    for (int i = 0; i < N * N; i++) g[i] = (77 * p[3 * i] + 150 * p[3 * i + 1] + 29 * p[3 * i + 2]) / 256;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
            const int *a = g + i * N + j, *b = a + N, *c = b + N;
            int across = a[2] - a[0] + 2 * (b[2] - b[0]) + c[2] - c[0], down = c[0] + 2 * c[1] + c[2] - a[0] - 2 * a[1] - a[2];
            int s = abs(across) + abs(down);
            y[i * M + j] = s < 255 ? s : 255;
        }
}
int main(void)
{
    byte *p = memory(3 * N * N, 1);
    int *y = memory(M * M, sizeof(int)), *g = memory(N * N, sizeof(int));
    for (long i = 0; i < 3 * N * N; i++) p[i] = (byte)(256 * datum(i, 7919));
    MEASURE(edges(y, g, p));
    report(checksum_int(y, M * M));
}
