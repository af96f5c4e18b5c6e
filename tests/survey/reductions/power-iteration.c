#include "../survey_c.h"
#define N SIZE(800, 16)
static void eigenvalue(real *restrict result, const real *restrict a, real *restrict y, int n)
{
    real old = 0, value = 1, *x = result + 2;
    int rounds = 0;
    for (int i = 0; i < n; i++) x[i] = 1;
    while (fabs(value - old) > (real)0.0000001 * value && rounds < 30) {
        real squares = 0;
        for (int i = 0; i < n; i++) {
            real sum = 0;
            for (int j = 0; j < n; j++) sum += a[i * n + j] * x[j];
            y[i] = sum;
            squares += sum * sum;
        }
        old = value;
        value = SQRT(squares);
        for (int i = 0; i < n; i++) x[i] = y[i] / value;
        rounds++;
    }
    result[0] = value, result[1] = rounds;
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *y = memory(N, sizeof(real)), *result = memory(N + 2, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a[i * N + j] = (real)0.6 + (real)(datum(i * j + i + j, 7919) - 0.5);
    MEASURE(eigenvalue(result, a, y, N));
    report(checksum(result, N + 2));
}
