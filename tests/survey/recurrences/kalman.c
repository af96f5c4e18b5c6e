#include "../survey_c.h"
#define N SIZE(40000, 60)
static void kalman(real *restrict y, const real *restrict z, int n)
{
    real sp = z[0], sv = 0, spp = 1, spv = 0, svv = 1;
    for (int i = 0; i < n; i++) {
        real p = sp + sv, pp = spp + 2 * spv + svv + (real)0.01, pv = spv + svv, vv = svv + (real)0.01;
        real gain = pp / (pp + (real)0.5), slope = pv / (pp + (real)0.5), e = z[i] - p;
        sp = p + gain * e;
        sv = sv + slope * e;
        spp = (1 - gain) * pp;
        spv = (1 - gain) * pv;
        svv = vv - slope * pv;
        y[i] = sp;
    }
}
int main(void)
{
    real *z = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) z[i] = datum(i, 7919) - 0.5;
    MEASURE(kalman(y, z, N));
    report(checksum(y, N));
}
