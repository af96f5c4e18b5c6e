/* A saddle point: the slopes of both descents by hand. That of the greatest cost by x goes along with the inner descent, to which x is constant. */
#include "../peers.h"

typedef struct {
    double x, y;
} point;

static double cost(point a, point b) { return a.x * a.x + a.y * a.y - (b.x * b.x + b.y * b.y); }

static double size(point a) { return sqrt(a.x * a.x + a.y * a.y); }

static double sink_value(point a, point b) { return -cost(a, b); }
static point sink_slope(point a, point b)
{
    (void)a;
    return (point){2 * b.x, 2 * b.y};
}

/* From p downhill; `other` is the argument that stays. */
static point lowest(double value(point, point), point slope(point, point), point other, point p)
{
    double now = value(other, p), eta = 1e-5;
    point down = slope(other, p);
    int count = 0;
    while (size(down) > 1e-5) {
        if (count == 10) {
            eta *= 2;
            count = 0;
            continue;
        }
        point q = {p.x - eta * down.x, p.y - eta * down.y}, step = {p.x - q.x, p.y - q.y};
        if (size(step) <= 1e-5) break;
        double new = value(other, q);
        if (new < now) {
            p = q;
            now = new;
            down = slope(other, p);
            count++;
        } else {
            eta /= 2;
            count = 0;
        }
    }
    return p;
}

static double most(point from, point x) { return cost(x, lowest(sink_value, sink_slope, x, from)); }
static point most_slope(point from, point x)
{
    /* Where the inner descent arrives does not depend on x, but it has to be walked. */
    volatile point y = lowest(sink_value, sink_slope, x, from);
    (void)y;
    return (point){2 * x.x, 2 * x.y};
}

int main(void)
{
    volatile double one = 1;
    double result[4];
    point x, y;
    MEASURE(({
        point from = {one, one};
        x = lowest(most, most_slope, from, from);
        y = lowest(sink_value, sink_slope, x, from);
    }));
    memcpy(result, (double[]){x.x, x.y, y.x, y.y}, sizeof result);
    report(digest(result, 4));
    return 0;
}
