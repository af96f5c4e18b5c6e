#include "../survey_c.h"
#define N SIZE(20000, 12)
#define K SIZE(20, 6)
#define D 3
static void assignment(int *restrict y, const real *restrict points, const real *restrict centers)
{
    for (int i = 0; i < N; i++) {
        real least = 1000;
        int at = 0;
        for (int c = 0; c < K; c++) {
            real s = 0;
            for (int j = 0; j < D; j++) s += (centers[c * D + j] - points[i * D + j]) * (centers[c * D + j] - points[i * D + j]);
            if (s < least) least = s, at = c;
        }
        y[i] = at;
    }
}
int main(void)
{
    real *points = memory(N * D, sizeof(real)), *centers = memory(K * D, sizeof(real));
    int *y = memory(N, sizeof(int));
    for (long i = 0; i < N * D; i++) points[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < K * D; i++) centers[i] = datum(i, 104729) - 0.5;
    MEASURE(assignment(y, points, centers));
    report(checksum_int(y, N));
}
