/* One step of SIZE bodies that attract each other, all pairs. A rank moves its bodies; all know where all are. */
#include "ranks.h"

typedef struct { real *x, *y, *z, *vx, *vy, *vz, *mass; } bodies;

static void step(bodies b, bodies out, real dt, shares all)
{
    const real softening = (real)1e-3;
    for (long i = first(SIZE, rank); i < first(SIZE, rank + 1); i++) {
        real ax = 0, ay = 0, az = 0;
        for (int j = 0; j < SIZE; j++) {
            real dx = b.x[j] - b.x[i], dy = b.y[j] - b.y[i], dz = b.z[j] - b.z[i];
            real r2 = dx * dx + dy * dy + dz * dz + softening;
            real k = b.mass[j] / (r2 * SQRT(r2));
            ax += k * dx;
            ay += k * dy;
            az += k * dz;
        }
        out.vx[i] = b.vx[i] + ax * dt;
        out.vy[i] = b.vy[i] + ay * dt;
        out.vz[i] = b.vz[i] + az * dt;
        out.x[i] = b.x[i] + out.vx[i] * dt;
        out.y[i] = b.y[i] + out.vy[i] * dt;
        out.z[i] = b.z[i] + out.vz[i] * dt;
    }
    gather(out.x, all);
    gather(out.y, all);
    gather(out.z, all);
}

static bodies new_bodies(void)
{
    real *m = memory(7 * SIZE, sizeof(real));
    return (bodies){m, m + SIZE, m + 2 * SIZE, m + 3 * SIZE, m + 4 * SIZE, m + 5 * SIZE, m + 6 * SIZE};
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    bodies b = new_bodies(), out = new_bodies();
    shares all = shares_of(SIZE, 1);
    for (int i = 0; i < SIZE; i++) {
        b.x[i] = (real)datum(i, 7919);
        b.y[i] = (real)datum(i, 7921);
        b.z[i] = (real)datum(i, 7923);
        b.vx[i] = (real)datum(i, 104729);
        b.vy[i] = 0;
        b.vz[i] = -1;
        b.mass[i] = (real)((datum(i, 104723) + 0.5) / SIZE);
    }
    MEASURE_RANKS(step(b, out, (real)0.01, all));
    long from = first(SIZE, rank), n = own(SIZE);
    return finish(checksum_from(out.vx + from, n, from) + checksum_from(out.vy + from, n, from) + checksum_from(out.z + from, n, from));
}
