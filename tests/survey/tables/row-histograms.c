#include "../survey_c.h"
#define N SIZE(500, 10)
#define M SIZE(500, 20)
static void modes(int *y, const int *a)
{
    for (int i = 0; i < N; i++) {
        int h[64] = { 0 }, best = 0;
        for (int j = 0; j < M; j++) {
            int v = a[i * M + j];
            h[v]++;
            if (h[v] > h[best]) best = v;
        }
        y[i] = best;
    }
}
int main(void)
{
    int *a = memory(N * M, sizeof(int)), *y = memory(N, sizeof(int));
    for (int i = 0; i < N * M; i++) a[i] = i % 1009 * 7919 % 1009 % 64;
    MEASURE(modes(y, a));
    report(checksum_int(y, N));
}
