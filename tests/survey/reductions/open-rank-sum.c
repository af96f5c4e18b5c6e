#include "../survey_c.h"
#define N SIZE(2000, 12)
#define M 500
static void sums(real *restrict r, const real *restrict x)
{
    real sum = 0, squares = 0, most = x[0];
    for (long i = 0; i < (long)N * M; i++) {
        sum += x[i];
        squares += x[i] * x[i];
        most = x[i] > most ? x[i] : most;
    }
    r[0] = sum, r[1] = squares, r[2] = most;
}
int main(void)
{
    real *x = memory((long)N * M, sizeof(real)), *r = memory(3, sizeof(real));
    for (long i = 0; i < (long)N * M; i++) x[i] = datum(i, 7919) - 0.5;
    MEASURE(sums(r, x));
    report(checksum(r, 3));
}
