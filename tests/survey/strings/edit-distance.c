#include "../survey_c.h"
#define N SIZE(600, 40)
static inline int lesser(int a, int b) { return a < b ? a : b; }
static void distances(int *row, const char *a, const char *b)
{
    for (int j = 0; j <= N; j++) row[j] = j;
    for (int i = 0; i < N; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < N; j++) {
            int best = lesser(lesser(row[j], row[j + 1]) + 1, diagonal + (a[i] != b[j]));
            diagonal = row[j + 1];
            row[j + 1] = best;
        }
    }
}
int main(void)
{
    char *a = memory(N, 1), *b = memory(N, 1);
    int *y = memory(N + 1, sizeof(int));
    for (int i = 0; i < N; i++) a[i] = 97 + i % 1009 * 7919 % 1009 % 4, b[i] = 97 + i % 1009 * 515 % 1009 % 4;
    MEASURE(distances(y, a, b));
    report(checksum_int(y, N + 1));
}
