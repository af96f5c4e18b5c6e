#include "../survey_c.h"
#include <string.h>
#define N SIZE(128, 8)
#define STEPS SIZE(10, 2)
static void play(int *a, int *b, const int *first)
{
    memcpy(a, first, N * N * sizeof(int));
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                int count = 0;
                for (int p = i - 1; p <= i + 1; p++)
                    for (int q = j - 1; q <= j + 1; q++)
                        if (p >= 0 && p < N && q >= 0 && q < N && (p != i || q != j)) count += a[p * N + q];
                b[i * N + j] = count == 3 ? 1 : count == 2 ? a[i * N + j] : 0;
            }
        memcpy(a, b, N * N * sizeof(int));
    }
}
int main(void)
{
    int *first = memory(N * N, sizeof(int)), *a = memory(N * N, sizeof(int)), *b = memory(N * N, sizeof(int));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) first[i * N + j] = (i * i * 7 + i * j * 3 + j * 5) % 11 % 3 == 0;
    MEASURE(play(a, b, first));
    report(checksum_int(a, N * N));
}
