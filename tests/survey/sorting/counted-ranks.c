#include "../survey_c.h"
#define N SIZE(2000, 40)
static void ranks(int *y, const real *v)
{
    for (int i = 0; i < N; i++) {
        int before = 0;
        for (int j = 0; j < N; j++) before += v[j] < v[i] || (v[j] == v[i] && j < i);
        y[i] = before;
    }
}
int main(void)
{
    real *v = memory(N, sizeof(real));
    int *y = memory(N, sizeof(int));
    for (long i = 0; i < N; i++) v[i] = datum(i, 7919) - 0.5;
    MEASURE(ranks(y, v));
    report(checksum_int(y, N));
}
