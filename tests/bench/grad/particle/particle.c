/* The particle: its flight with the derivative by the parameter, carried along by hand. */
#include "../peers.h"

/* The slope of the potential at (x, y), and what it changes by while x, y and w change by dx, dy and dw. */
static void slope(double x, double y, double w, double dx, double dy, double dw, double force[2], double dforce[2])
{
    force[0] = force[1] = dforce[0] = dforce[1] = 0;
    for (int charge = 0; charge < 2; charge++) {
        double a = x - 10, b = y - (charge ? 0 : 10 - w), da = dx, db = dy + (charge ? 0 : dw);
        double r = sqrt(a * a + b * b), dr = (a * da + b * db) / r, cube = 1 / (r * r * r), dcube = -3 * cube * dr / r;
        force[0] -= a * cube;
        force[1] -= b * cube;
        dforce[0] -= da * cube + a * dcube;
        dforce[1] -= db * cube + b * dcube;
    }
}

static double flight(double w, double *derivative)
{
    double x[2] = {0, 8}, speed[2] = {0.75, 0}, dx[2] = {0}, dspeed[2] = {0}, force[2], dforce[2];
    slope(x[0], x[1], w, dx[0], dx[1], 1, force, dforce);
    for (int i = 0; i < 2; i++) x[i] += 0.1 * speed[i];
    while (x[1] > 0) {
        for (int i = 0; i < 2; i++) {
            speed[i] -= 0.1 * force[i];
            dspeed[i] -= 0.1 * dforce[i];
        }
        slope(x[0], x[1], w, dx[0], dx[1], 1, force, dforce);
        for (int i = 0; i < 2; i++) {
            x[i] += 0.1 * speed[i];
            dx[i] += 0.1 * dspeed[i];
        }
    }
    double last = -x[1] / speed[1], dlast = -(dx[1] + last * dspeed[1]) / speed[1];
    double end = x[0] + last * speed[0], dend = dx[0] + dlast * speed[0] + last * dspeed[0];
    *derivative = 2 * end * dend;
    return end * end;
}

static double found(double w)
{
    double down, value = flight(w, &down), eta = 1e-5;
    int count = 0;
    while (fabs(down) > 1e-5) {
        if (count == 10) {
            eta *= 2;
            count = 0;
            continue;
        }
        double near = w - eta * down, next;
        if (fabs(w - near) <= 1e-5) break;
        double new = flight(near, &next);
        if (new < value) {
            w = near;
            value = new;
            down = next;
            count++;
        } else {
            eta /= 2;
            count = 0;
        }
    }
    return w;
}

int main(void)
{
    volatile double from = 0;
    double w[1];
    MEASURE(w[0] = found(from));
    report(digest(w, 1));
    return 0;
}
