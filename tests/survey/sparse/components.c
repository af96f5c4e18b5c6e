#include <string.h>
#include "../survey_c.h"
#define N SIZE(20000, 40)
static void components(int *restrict label, const int *restrict from, const int *restrict to, const int *restrict first)
{
    int changed = 1;
    memcpy(label, first, N * sizeof(int));
    while (changed) {
        changed = 0;
        for (int e = 0; e < N; e++) {
            int a = label[from[e]], b = label[to[e]];
            if (a != b) {
                label[from[e]] = label[to[e]] = a < b ? a : b;
                changed = 1;
            }
        }
    }
}
int main(void)
{
    int *from = memory(N, sizeof(int)), *to = memory(N, sizeof(int)), *first = memory(N, sizeof(int)), *y = memory(N, sizeof(int));
    for (int e = 0; e < N; e++) from[e] = (e % 1009 * 515 % 1009 + e) % N, to[e] = (e % 1009 * 7919 % 1009 + e) % N;
    for (int i = 0; i < N; i++) first[i] = i * 3 % N;
    MEASURE(components(y, from, to, first));
    report(checksum_int(y, N));
}
