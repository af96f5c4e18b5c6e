#include "../survey_c.h"
#define N SIZE(60000, 60)
#ifdef FLOAT
#define COS cosf
#define LOG logf
#define ATAN2 atan2f
#else
#define COS cos
#define LOG log
#define ATAN2 atan2
#endif
static void chain(real *restrict z, const real *restrict x, const real *restrict y)
{
    for (int i = 0; i < N; i++) {
        real r = SQRT(x[i] * x[i] + y[i] * y[i]);
        real wave = EXP(-r) * COS(3 * ATAN2(y[i], x[i]));
        real damped = r < (real)0.3 ? wave : wave / (1 + r * r);
        z[i] = x[i] > y[i] ? damped : -damped * LOG(1 + r);
    }
}
int main(void)
{
    real *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real)), *z = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) x[i] = datum(i, 7919) - 0.5, y[i] = datum(i, 7907) - 0.5;
    MEASURE(chain(z, x, y));
    report(checksum(z, N));
}
