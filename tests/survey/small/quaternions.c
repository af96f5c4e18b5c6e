#include "../survey_c.h"
#define N SIZE(200000, 30)
typedef struct { real w, x, y, z; } turn;
static turn times(turn p, turn q)
{
    return (turn){ p.w * q.w - p.x * q.x - p.y * q.y - p.z * q.z, p.w * q.x + p.x * q.w + p.y * q.z - p.z * q.y,
                   p.w * q.y - p.x * q.z + p.y * q.w + p.z * q.x, p.w * q.z + p.x * q.y - p.y * q.x + p.z * q.w };
}
static void all_rotated(real *restrict y, const real *restrict u, const real *restrict p)
{
    for (int i = 0; i < N; i++) {
        turn q = { u[4 * i], u[4 * i + 1], u[4 * i + 2], u[4 * i + 3] };
        turn r = times(times(q, (turn){ 0, p[3 * i], p[3 * i + 1], p[3 * i + 2] }), (turn){ q.w, -q.x, -q.y, -q.z });
        y[3 * i] = r.x, y[3 * i + 1] = r.y, y[3 * i + 2] = r.z;
    }
}
int main(void)
{
    real *q = memory(4 * N, sizeof(real)), *p = memory(3 * N, sizeof(real)), *y = memory(3 * N, sizeof(real));
    for (long i = 0; i < 4 * N; i++) q[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < 3 * N; i++) p[i] = datum(i, 104729) - 0.5;
    MEASURE(all_rotated(y, q, p));
    report(checksum(y, 3 * N));
}
