#include "../survey_c.h"
#define N SIZE(256, 10)
typedef unsigned char byte;
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static int clamp(int i) { return i < 0 ? 0 : i > N - 1 ? N - 1 : i; }
#define FILTER(name, BEST)                                                                                          \
    static void name(byte *restrict y, const byte *restrict a)                                                      \
    {                                                                                                               \
        for (int i = 0; i < N; i++) {                                                                               \
            for (int j = 2; j < N - 2; j++) y[i * N + j] = a[i * N + j];                                            \
            for (int k = -2; k <= 2; k++)                                                                           \
                for (int l = -2; l <= 2; l++) {                                                                     \
                    const byte *row = a + clamp(i + k) * N + l;                                                     \
                    for (int j = 2; j < N - 2; j++) y[i * N + j] = BEST(y[i * N + j], row[j]);                      \
                }                                                                                                   \
            for (int j = 0; j < N; j = j == 1 ? N - 2 : j + 1) {                                                    \
                byte best = a[i * N + j];                                                                           \
                for (int k = -2; k <= 2; k++)                                                                       \
                    for (int l = -2; l <= 2; l++) best = BEST(best, a[clamp(i + k) * N + clamp(j + l)]);            \
                y[i * N + j] = best;                                                                                \
            }                                                                                                       \
        }                                                                                                           \
    }
FILTER(dilate, MAX)
FILTER(erode, MIN)
static void close(int *y, byte *t, byte *e, const byte *a)
{
    dilate(t, a);
    erode(e, t);
    for (int i = 0; i < N * N; i++) y[i] = e[i];
}
int main(void)
{
    byte *a = memory(N * N, 1), *t = memory(N * N, 1), *e = memory(N * N, 1);
    int *y = memory(N * N, sizeof(int));
    for (long i = 0; i < N * N; i++) a[i] = (byte)(256 * datum(i, 7919));
    MEASURE(close(y, t, e, a));
    report(checksum_int(y, N * N));
}
