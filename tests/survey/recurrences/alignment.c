#include "../survey_c.h"
#define N SIZE(1000, 30)
static inline int larger(int a, int b) { return a > b ? a : b; }
static void alignment(int *restrict row, const int *restrict a, const int *restrict b, int n, int m)
{
    for (int j = 0; j <= m; j++) row[j] = 0;
    for (int i = 0; i < n; i++) {
        int diagonal = 0, left = 0;
        for (int j = 1; j <= m; j++) {
            int up = row[j], match = a[i] == b[j - 1] ? 3 : -2;
            left = larger(larger(larger(left - 1, up - 1), diagonal + match), 0);
            row[j] = left;
            diagonal = up;
        }
    }
}
int main(void)
{
    int *a = memory(N, sizeof(int)), *b = memory(N, sizeof(int)), *row = memory(N + 1, sizeof(int));
    for (long i = 0; i < N; i++) a[i] = i % 1009 * 7919 % 1009 % 4, b[i] = i % 1009 * 613 % 1009 % 4;
    MEASURE(alignment(row, a, b, N, N));
    report(checksum_int(row, N + 1));
}
