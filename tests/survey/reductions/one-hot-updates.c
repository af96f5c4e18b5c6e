#include "../survey_c.h"
#define N SIZE(400000, 100)
#define BINS SIZE(200, 16)
static void scores(real *restrict score, const int *restrict v, const real *restrict x)
{
    int count[BINS] = { 0 };
    for (int b = 0; b < BINS; b++) score[b] = 0;
    for (int i = 0; i < N; i++) {
        score[v[i]] += x[i];
        count[v[i]]++;
    }
    for (int b = 0; b < BINS; b++) score[b] += count[b];
}
int main(void)
{
    int *v = memory(N, sizeof(int));
    real *x = memory(N, sizeof(real)), *score = memory(BINS, sizeof(real));
    for (long i = 0; i < N; i++) v[i] = i % 1009 * 7919 % 1009 % BINS, x[i] = datum(i, 104729) - 0.5;
    MEASURE(scores(score, v, x));
    report(checksum(score, BINS));
}
