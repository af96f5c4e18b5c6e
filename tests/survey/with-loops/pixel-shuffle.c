#include "../survey_c.h"
#define N SIZE(300, 6)
#define F 4
static void shuffled(real *restrict y, const real *restrict a, const real *restrict gain)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < F; k++)
            for (int j = 0; j < N; j++)
                for (int l = 0; l < F; l++) y[(i * F + k) * F * N + j * F + l] = gain[k * F + l] * a[((i * N + j) * F + k) * F + l];
}
int main(void)
{
    size_t n = N * N * F * F;
    real *a = memory(n, sizeof(real)), gain[F * F], *y = memory(n, sizeof(real));
    for (size_t i = 0; i < n; i++) a[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < F * F; i++) gain[i] = datum(i, 7907) - 0.5;
    MEASURE(shuffled(y, a, gain));
    report(checksum(y, n));
}
