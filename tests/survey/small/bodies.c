#include "../survey_c.h"
#define N SIZE(64, 8)
#define STEPS SIZE(50, 3)
typedef struct { real x, y, vx, vy, m; } body;
static void run(real *y, const real *p)
{
    body b[N];
    real ax[N], ay[N], dt = (real)0.001;
    for (int i = 0; i < N; i++) b[i] = (body){ p[2 * i], p[2 * i + 1], 0, 0, 1 };
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < N; i++) {
            ax[i] = ay[i] = 0;
            for (int j = 0; j < N; j++) {
                real dx = b[j].x - b[i].x, dy = b[j].y - b[i].y, r = dx * dx + dy * dy + (real)0.05, w = b[j].m / (r * SQRT(r));
                ax[i] += w * dx, ay[i] += w * dy;
            }
        }
        for (int i = 0; i < N; i++) {
            b[i].vx += dt * ax[i], b[i].vy += dt * ay[i];
            b[i].x += dt * b[i].vx, b[i].y += dt * b[i].vy;
        }
    }
    for (int i = 0; i < N; i++) y[i] = b[i].x + b[i].y;
}
int main(void)
{
    real *p = memory(2 * N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < 2 * N; i++) p[i] = datum(i, 7919) - 0.5;
    MEASURE(run(y, p));
    report(checksum(y, N));
}
