#include <string.h>
#include "../survey_c.h"
#define N SIZE(256, 12)
#define ROUNDS SIZE(10, 2)
static inline int cell(const unsigned char *a, const unsigned char *b, const unsigned char *c, int l, int j, int r)
{
    int n = a[l] + a[j] + a[r] + b[l] + b[r] + c[l] + c[j] + c[r];
    return n == 3 || (b[j] && n == 2);
}
static void step(unsigned char *restrict y, const unsigned char *restrict x)
{
    for (int i = 0; i < N; i++) {
        const unsigned char *a = x + (i + N - 1) % N * N, *b = x + i * N, *c = x + (i + 1) % N * N;
        y[i * N] = cell(a, b, c, N - 1, 0, 1);
        for (int j = 1; j < N - 1; j++) y[i * N + j] = cell(a, b, c, j - 1, j, j + 1);
        y[i * N + N - 1] = cell(a, b, c, N - 2, N - 1, 0);
    }
}
static void run(unsigned char *y, const unsigned char *x)
{
    static unsigned char a[N * N], b[N * N];
    memcpy(a, x, sizeof a);
    for (int t = 0; t < ROUNDS; t += 2) step(b, a), step(a, b);
    memcpy(y, a, sizeof a);
}
int main(void)
{
    unsigned char *a = memory(N * N, 1), *y = memory(N * N, 1);
    int *z = memory(N * N, sizeof(int));
    for (int i = 0; i < N * N; i++) a[i] = i % 1009 * 7919 % 1009 % 3 == 0;
    MEASURE(run(y, a));
    for (int i = 0; i < N * N; i++) z[i] = y[i];
    report(checksum_int(z, N * N));
}
