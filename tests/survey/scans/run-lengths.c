#include "../survey_c.h"
#define RUNS SIZE(200000, 30)
#define MOST_LENGTH 9
static void decoded(real *restrict y, const real *restrict value, const int *restrict length, int n)
{
    int at = 0;
    for (int i = 0; i < RUNS * MOST_LENGTH; i++) y[i] = 0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < length[i]; k++) y[at + k] = value[i];
        at += length[i];
    }
}
int main(void)
{
    real *value = memory(RUNS, sizeof(real)), *y = memory(RUNS * MOST_LENGTH, sizeof(real));
    int *length = memory(RUNS, sizeof(int));
    for (long i = 0; i < RUNS; i++) value[i] = datum(i, 7919) - 0.5, length[i] = 1 + i % 1009 * 613 % 1009 % MOST_LENGTH;
    MEASURE(decoded(y, value, length, RUNS));
    report(checksum(y, RUNS * MOST_LENGTH));
}
