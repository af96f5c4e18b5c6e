#include <string.h>
#include "../survey_c.h"
#define N SIZE(20000, 40)
static void levels(int *restrict level, const int *restrict row, const int *restrict column, const int *restrict first)
{
    static int queue[N];
    int head = 0, tail = 1;
    memcpy(level, first, N * sizeof(int));
    queue[0] = 0;
    while (head < tail) {
        int u = queue[head++];
        for (int k = row[u]; k < row[u + 1]; k++) {
            int v = column[k];
            if (level[v] < 0) {
                level[v] = level[u] + 1;
                queue[tail++] = v;
            }
        }
    }
}
int main(void)
{
    int *row = memory(N + 1, sizeof(int)), *column = memory(3 * N + 1, sizeof(int)), *first = memory(N, sizeof(int)), *y = memory(N, sizeof(int));
    for (int i = 0; i <= N; i++) row[i] = 3 * i + i % 2;
    for (int k = 0; k < 3 * N + 1; k++) column[k] = (k / 3 + k % 1009 * 7919 % 1009) % N;
    for (int i = 0; i < N; i++) first[i] = i == 0 ? 0 : -1;
    MEASURE(levels(y, row, column, first));
    report(checksum_int(y, N));
}
