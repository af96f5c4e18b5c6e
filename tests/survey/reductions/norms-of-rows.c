#include "../survey_c.h"
#define M SIZE(20000, 12)
#define N SIZE(120, 20)
static void norms(real *restrict y, const real *restrict a)
{
    for (int i = 0; i < M; i++) {
        real sum = 0, squares = 0, most = 0;
        for (int j = 0; j < N; j++) {
            real v = a[i * N + j], size = fabs(v);
            sum += size;
            squares += v * v;
            most = size > most ? size : most;
        }
        y[i] = sum / N + 2 * SQRT(squares) + 3 * most;
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *y = memory(M, sizeof(real));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(norms(y, a));
    report(checksum(y, M));
}
