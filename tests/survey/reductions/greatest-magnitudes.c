#include "../survey_c.h"
#define M SIZE(4000, 12)
#define N SIZE(100, 20)
static void greatest(real *restrict y, const real *restrict a)
{
    for (int i = 0; i < M; i++) {
        real most = 0;
        for (int j = 0; j < N; j++) most = fabs(a[i * N + j]) > fabs(most) ? a[i * N + j] : most;
        y[i] = most;
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *y = memory(M, sizeof(real));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(greatest(y, a));
    report(checksum(y, M));
}
