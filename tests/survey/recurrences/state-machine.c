#include "../survey_c.h"
#define N SIZE(200000, 300)
#define STATES 5
#define CLASSES 4
static void visits(int *restrict seen, const int *restrict table, const int *restrict text, int n)
{
    int state = 0;
    for (int s = 0; s < STATES; s++) seen[s] = 0;
    for (int i = 0; i < n; i++) seen[state = table[state * CLASSES + text[i]]]++;
}
int main(void)
{
    int *text = memory(N, sizeof(int)), *table = memory(STATES * CLASSES, sizeof(int)), seen[STATES];
    for (int s = 0; s < STATES; s++)
        for (int c = 0; c < CLASSES; c++) table[s * CLASSES + c] = (s * 3 + c * 2 + 1) % STATES;
    for (long i = 0; i < N; i++) text[i] = i % 1009 * 7919 % 1009 % CLASSES;
    MEASURE(visits(seen, table, text, N));
    report(checksum_int(seen, STATES));
}
