#include "../survey_c.h"
#define N SIZE(1000, 60)
static void distribution(real *q, const real *p)
{
    q[0] = 1;
    for (int j = 1; j <= N; j++) q[j] = 0;
    for (int k = 0; k < N; k++) {
        for (int j = k + 1; j > 0; j--) q[j] = q[j] * (1 - p[k]) + q[j - 1] * p[k];
        q[0] *= 1 - p[k];
    }
}
int main(void)
{
    real *p = memory(N, sizeof(real)), *q = memory(N + 1, sizeof(real));
    for (long i = 0; i < N; i++) p[i] = 0.25 + 0.5 * datum(i, 7919);
    MEASURE(distribution(q, p));
    report(checksum(q, N + 1));
}
