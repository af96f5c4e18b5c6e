#include <string.h>
#include "../survey_c.h"
#define N SIZE(500, 10)
#define M SIZE(300, 10)
#define RANGE SIZE(4096, 64)
static void differents(int *y, const int *a)
{
    static int seen[RANGE];
    for (int i = 0; i < N; i++) {
        int count = 0;
        memset(seen, 0, sizeof seen);
        for (int j = 0; j < M; j++) {
            if (seen[a[i * M + j]] == 0) count++;
            seen[a[i * M + j]] = 1;
        }
        y[i] = count;
    }
}
int main(void)
{
    int *a = memory(N * M, sizeof(int)), *y = memory(N, sizeof(int));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) a[i * M + j] = (i * M + j) % 1009 * (i + 1) % 1009 % 150 * 11 % RANGE;
    MEASURE(differents(y, a));
    report(checksum_int(y, N));
}
