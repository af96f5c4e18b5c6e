#include "../survey_c.h"
#define N SIZE(100000, 200)
#define M 97
static void residues(int *restrict count, const int *restrict start, int m)
{
    int a = start[0], b = start[1];
    for (int i = 0; i < M; i++) count[i] = 0;
    for (int i = 0; i < N; i++) {
        count[a]++;
        int next = (a + b + i % 3) % m;
        a = b;
        b = next;
    }
}
int main(void)
{
    int first[2] = { 1, 2 }, count[M];
    MEASURE(residues(count, first, M));
    report(checksum_int(count, M));
}
