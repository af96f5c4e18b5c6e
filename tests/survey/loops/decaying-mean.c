#include "../survey_c.h"
#define N SIZE(30000, 200)
static void means(real *y, const real *score, const real *value)
{
    real total = 0, sum = 0;
    for (int i = 0; i < N; i++) {
        real w = EXP(2 * score[i] * value[i] - 1);
        total = (real)0.99 * total + w;
        sum = (real)0.99 * sum + w * value[i];
        y[i] = sum / total;
    }
}
int main(void)
{
    real *score = memory(N, sizeof(real)), *value = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) score[i] = datum(i, 7919) - 0.5, value[i] = datum(i, 104729) - 0.5;
    MEASURE(means(y, score, value));
    report(checksum(y, N));
}
