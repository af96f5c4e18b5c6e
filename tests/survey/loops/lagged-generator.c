#include "../survey_c.h"
#define N SIZE(400000, 1000)
static void numbers(real *x, const real *first)
{
    for (int i = 0; i < 55; i++) x[i] = first[i];
    for (int i = 55; i < N; i++) {
        real d = x[i - 55] - x[i - 24];
        x[i] = d < 0 ? d + 1 : d;
    }
}
int main(void)
{
    real *first = memory(55, sizeof(real)), *x = memory(N, sizeof(real));
    for (long i = 0; i < 55; i++) first[i] = (real)(i * i * 31 % 1024) / 1024;
    MEASURE(numbers(x, first));
    report(checksum(x, N));
}
