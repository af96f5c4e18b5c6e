#include "../survey_c.h"
#define M SIZE(800, 30)
#define N SIZE(600, 20)
static void lengths(int *c, const int *a, const int *b)
{
    int w = N + 1;
    for (int j = 0; j <= N; j++) c[j] = 0;
    for (int i = 1; i <= M; i++) {
        c[i * w] = 0;
        for (int j = 1; j <= N; j++) {
            int above = c[(i - 1) * w + j], left = c[i * w + j - 1];
            c[i * w + j] = a[i - 1] == b[j - 1] ? c[(i - 1) * w + j - 1] + 1 : above >= left ? above : left;
        }
    }
}
int main(void)
{
    int *a = memory(M, sizeof(int)), *b = memory(N, sizeof(int)), *c = memory((M + 1) * (N + 1), sizeof(int));
    for (int i = 0; i < M; i++) a[i] = i * i * 7 % 31 % 4;
    for (int i = 0; i < N; i++) b[i] = i * i * 3 % 37 % 4;
    MEASURE(lengths(c, a, b));
    report(checksum_int(c, (M + 1) * (N + 1)));
}
