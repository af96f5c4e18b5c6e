#include "../survey_c.h"
#define N SIZE(100000, 80)
#define M SIZE(1000, 50)
static void joined(real *restrict y, const int *restrict key, const real *restrict price, const int *restrict id, const real *restrict rate)
{
    int at[1009];
    for (int i = 0; i < 1009; i++) at[i] = -1;
    for (int i = 0; i < M; i++) at[id[i]] = i;
    for (int i = 0; i < N; i++) y[i] = at[key[i]] < 0 ? 0 : price[i] * rate[at[key[i]]];
}
int main(void)
{
    int *key = memory(N, sizeof(int)), *id = memory(M, sizeof(int));
    real *price = memory(N, sizeof(real)), *rate = memory(M, sizeof(real)), *y = memory(N, sizeof(real));
    for (int i = 0; i < N; i++) key[i] = i % 1009 * 7919 % 1009, price[i] = datum(i, 104729) - 0.5;
    for (int i = 0; i < M; i++) id[i] = i * 515 % 1009, rate[i] = datum(i, 7919) - 0.5;
    MEASURE(joined(y, key, price, id, rate));
    report(checksum(y, N));
}
