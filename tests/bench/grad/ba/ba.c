/* Bundle adjustment: the matrix of one observation by the chain of its steps. */
#include "../peers.h"

static double *cameras, *points, *weights, *features;
static int *rows, *columns;

static inline double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* Rodrigues's rotation: of x by r, its axis w, its angle. */
static inline double turned(const double *r, const double *x, double *w, double *p)
{
    double theta = sqrt(dot(r, r)), across[3];
    if (theta == 0) {
        cross(r, x, across);
        for (int i = 0; i < 3; i++) p[i] = x[i] + across[i];
        return 0;
    }
    for (int i = 0; i < 3; i++) w[i] = r[i] / theta;
    cross(w, x, across);
    double c = cos(theta), s = sin(theta), along = dot(w, x) * (1 - c);
    for (int i = 0; i < 3; i++) p[i] = x[i] * c + across[i] * s + w[i] * along;
    return theta;
}

/* The errors of observation i; its 2 x 15 derivatives if there is room for them. */
static inline void observe(int i, double *error, double *matrix)
{
    const double *camera = cameras + i % N * 11, *point = points + i % M * 3;
    double x[3], w[3], p[3], weight = weights[i];
    for (int k = 0; k < 3; k++) x[k] = point[k] - camera[3 + k];
    double theta = turned(camera, x, w, p), f = camera[6], k1 = camera[9], k2 = camera[10];
    double q[2] = {p[0] / p[2], p[1] / p[2]}, square = q[0] * q[0] + q[1] * q[1], scale = 1 + k1 * square + k2 * square * square;
    for (int a = 0; a < 2; a++) {
        double off = q[a] * scale * f + camera[7 + a] - features[2 * i + a];
        error[a] = weight * off;
        if (!matrix) continue;
        double *row = matrix + 15 * a, by_q[2], v[3], turn[3], place[3];
        for (int b = 0; b < 2; b++)
            by_q[b] = weight * f * ((a == b ? scale : 0) + q[a] * 2 * q[b] * (k1 + 2 * k2 * square));
        v[0] = by_q[0] / p[2];
        v[1] = by_q[1] / p[2];
        v[2] = -(by_q[0] * q[0] + by_q[1] * q[1]) / p[2];
        if (theta == 0) {
            cross(x, v, turn);
            cross(v, camera, place);
            for (int k = 0; k < 3; k++) place[k] += v[k];
        } else {
            double c = cos(theta), s = sin(theta), across[3], side[3], lever[3], by_w[3];
            double vw = dot(v, w), wx = dot(w, x);
            cross(w, x, across);
            cross(v, w, side);
            cross(x, v, lever);
            double by_theta = -s * dot(v, x) + c * dot(v, across) + s * vw * wx;
            for (int k = 0; k < 3; k++) {
                by_w[k] = s * lever[k] + (1 - c) * (v[k] * wx + x[k] * vw);
                place[k] = c * v[k] + s * side[k] + (1 - c) * vw * w[k];
            }
            double along = dot(w, by_w);
            for (int k = 0; k < 3; k++) turn[k] = by_theta * w[k] + (by_w[k] - along * w[k]) / theta;
        }
        for (int k = 0; k < 3; k++) {
            row[k] = turn[k];
            row[3 + k] = -place[k];
            row[11 + k] = place[k];
        }
        row[6] = weight * q[a] * scale;
        row[7] = a == 0 ? weight : 0;
        row[8] = a == 1 ? weight : 0;
        row[9] = weight * f * q[a] * square;
        row[10] = weight * f * q[a] * square * square;
        row[14] = off;
    }
}

static void objective(double *errors)
{
#pragma omp parallel for
    for (int i = 0; i < P; i++) {
        observe(i, errors + 2 * i, NULL);
        errors[2 * P + i] = 1 - weights[i] * weights[i];
    }
}

static void gradient(double *values)
{
#pragma omp parallel for
    for (int i = 0; i < P; i++) {
        double error[2];
        observe(i, error, values + 30 * (size_t)i);
        values[30 * (size_t)P + i] = -2 * weights[i];
        for (int a = 0; a < 2; a++) {
            int *into = columns + 30 * (size_t)i + 15 * a;
            for (int k = 0; k < 11; k++) into[k] = 11 * (i % N) + k;
            for (int k = 0; k < 3; k++) into[11 + k] = 11 * N + 3 * (i % M) + k;
            into[14] = 11 * N + 3 * M + i;
            rows[2 * i + a] = 30 * i + 15 * a;
        }
        columns[30 * (size_t)P + i] = 11 * N + 3 * M + i;
        rows[2 * P + i] = 30 * P + i;
    }
    rows[3 * P] = 31 * P;
}

int main(void)
{
    double *errors = memory(3 * (size_t)P, sizeof(double)), *values = memory(31 * (size_t)P, sizeof(double));
    rows = memory(3 * (size_t)P + 1, sizeof(int));
    columns = memory(31 * (size_t)P, sizeof(int));
    cameras = spread(N * 11, 1, 1, 0);
    points = spread(M * 3, 2, 1, 0);
    for (int i = 0; i < M; i++) points[3 * i + 2] += 3;
    weights = spread(P, 3, 1, 1);
    features = spread(2 * P, 4, 1, 0);
    COMPARE(objective(errors), errors, 3 * (size_t)P, gradient(values), values, 31 * (size_t)P);
    return 0;
}
