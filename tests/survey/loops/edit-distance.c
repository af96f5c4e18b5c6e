#include "../survey_c.h"
#define M SIZE(800, 30)
#define N SIZE(600, 20)
static int least(int a, int b) { return a < b ? a : b; }
static void distances(int *d, const int *a, const int *b)
{
    int w = N + 1;
    for (int i = 0; i <= M; i++) d[i * w] = i;
    for (int j = 0; j <= N; j++) d[j] = j;
    for (int i = 1; i <= M; i++)
        for (int j = 1; j <= N; j++) {
            int above = d[(i - 1) * w + j] + 1, across = d[(i - 1) * w + j - 1] + (a[i - 1] != b[j - 1]);
            d[i * w + j] = least(least(above, across), d[i * w + j - 1] + 1);
        }
}
int main(void)
{
    int *a = memory(M, sizeof(int)), *b = memory(N, sizeof(int)), *d = memory((M + 1) * (N + 1), sizeof(int));
    for (int i = 0; i < M; i++) a[i] = i * i * 7 % 31 % 4;
    for (int i = 0; i < N; i++) b[i] = i * i * 3 % 37 % 4;
    MEASURE(distances(d, a, b));
    report(checksum_int(d, (M + 1) * (N + 1)));
}
