#include "../survey_c.h"
#include <stdbool.h>
#include <string.h>
#define M SIZE(4000, 10)
#define N SIZE(200, 20)
#define RANGE 256
static void distinct(int *restrict y, const int *restrict v)
{
    bool seen[RANGE];
    for (int i = 0; i < M; i++) {
        int count = 0;
        memset(seen, 0, sizeof seen);
        for (int j = 0; j < N; j++)
            if (!seen[v[i * N + j]]) seen[v[i * N + j]] = true, count++;
        y[i] = count;
    }
}
int main(void)
{
    int *v = memory(M * N, sizeof(int)), *y = memory(M, sizeof(int));
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) v[i * N + j] = (i * N + j) % 1009 * 7919 % 1009 * (i % 5 + 1) % RANGE;
    MEASURE(distinct(y, v));
    report(checksum_int(y, M));
}
