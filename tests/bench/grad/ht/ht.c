/* A hand: the derivatives by hand, each angle's through the bones that it moves. */
#include "../peers.h"

enum { BONES = 22, ANGLES = 26, OWN =
#ifdef US
           2
#else
           0
#endif
};

typedef double matrix[4][4];

static double *theta, *base, *weights, *points, *us, *at, *skin, *change;
static matrix relatives[BONES], inverses[BONES], absolutes[BONES], turns[BONES];
static double moves[BONES][3][4];
static int places[C], (*triangles)[3];

static int parent(int i) { return i == 0 ? -1 : i % 4 == 1 ? 0 : i - 1; }

static void times(const matrix a, const matrix b, matrix c)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] + a[i][3] * b[3][j];
}

/* A rotation about x by tx, then about z by tz; or its derivative by one of them. */
static void by_angles(double tx, double tz, int by, matrix m)
{
    double sx = by == 0 ? cos(tx) : sin(tx), cx = by == 0 ? -sin(tx) : cos(tx);
    double sz = by == 1 ? cos(tz) : sin(tz), cz = by == 1 ? -sin(tz) : cos(tz);
    double one_x = by != 0, one_z = by != 1;
    memcpy(m, (matrix){{one_x * cz, -sz * cx, sz * sx, 0}, {one_x * sz, cz * cx, -cz * sx, 0}, {0, one_z * sx, one_z * cx, 0},
                       {0, 0, 0, by < 0}}, sizeof(matrix));
}

/* The numbers of theta by which a bone is turned, or -1. */
static void angles_of(int bone, int *x, int *z)
{
    int p = bone - 2, f = p / 4, k = p % 4;
    *x = p < 0 || p >= 20 || k == 3 ? -1 : k == 0 ? 6 + 4 * f : 7 + 4 * f + k;
    *z = p < 0 || p >= 20 || k != 0 ? -1 : 7 + 4 * f;
}

/* The rotation by a vector, and its derivatives by the vector's numbers. */
static void by_axis(const double *r, double turn[3][3], double slope[3][3][3])
{
    double norm = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), x[3], s = sin(norm), c = cos(norm);
    for (int i = 0; i < 3; i++) x[i] = r[i] / norm;
    for (int m = -1; m < 3; m++) {
        double (*out)[3] = m < 0 ? turn : slope[m];
        double dx[3] = {0}, dc = 0, ds = 0;
        if (m >= 0) {
            for (int i = 0; i < 3; i++) dx[i] = ((i == m) - x[i] * x[m]) / norm;
            dc = -s * x[m];
            ds = c * x[m];
        }
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                /* The cross product's matrix: zero on the diagonal, else + or - the number that is left. */
                int left = 3 - i - j, sign = i == j ? 0 : (j - i + 3) % 3 == 1 ? -1 : 1;
                double cross = sign ? sign * x[left] : 0, dcross = sign ? sign * dx[left] : 0;
                out[i][j] = m < 0 ? (i == j ? c : 0) + (1 - c) * x[i] * x[j] + s * cross
                                  : (i == j ? dc : 0) - dc * x[i] * x[j] + (1 - c) * (dx[i] * x[j] + x[i] * dx[j]) + ds * cross + s * dcross;
            }
    }
}

static void move_bones(void)
{
    for (int i = 0; i < BONES; i++) {
        int x, z;
        matrix own, moved;
        angles_of(i, &x, &z);
        by_angles(x < 0 ? 0 : theta[x], z < 0 ? 0 : theta[z], -1, turns[i]);
        times(relatives[i], turns[i], own);
        if (parent(i) < 0) memcpy(absolutes[i], own, sizeof own);
        else times(absolutes[parent(i)], own, absolutes[i]);
        times(absolutes[i], inverses[i], moved);
        memcpy(moves[i], moved, sizeof moves[i]);
    }
}

/* Vertices as the bones move them, and behind the rotation of the whole hand. */
static void place(double turn[3][3])
{
    move_bones();
#pragma omp parallel for
    for (int v = 0; v < V; v++) {
        double sum[3] = {0};
        for (int j = 0; j < BONES; j++)
            for (int r = 0; r < 3; r++) {
                const double *m = moves[j][r], *b = base + 4 * v;
                sum[r] += weights[v * BONES + j] * (m[0] * b[0] + m[1] * b[1] + m[2] * b[2] + m[3] * b[3]);
            }
        for (int r = 0; r < 3; r++) {
            skin[3 * v + r] = sum[r];
            at[3 * v + r] = turn[r][0] * sum[0] + turn[r][1] * sum[1] + turn[r][2] * sum[2] + theta[3 + r];
        }
    }
}

/* What point i takes from numbers of the vertices. */
static inline double taken(int i, int r, const double *of)
{
#ifdef US
    const int *t = triangles[places[i]];
    const double *u = us + 2 * i;
    return u[0] * of[3 * t[0] + r] + u[1] * of[3 * t[1] + r] + (1 - u[0] - u[1]) * of[3 * t[2] + r];
#else
    return of[3 * places[i] + r];
#endif
}

static void objective(double *errors)
{
    double turn[3][3], slope[3][3][3];
    by_axis(theta, turn, slope);
    place(turn);
#pragma omp parallel for
    for (int i = 0; i < C; i++)
        for (int r = 0; r < 3; r++) errors[3 * i + r] = points[3 * i + r] - taken(i, r, at);
}

/* How vertices change by an angle of a finger: through the bone that it turns and those that follow. */
static void finger(int bone, int by, double turn[3][3])
{
    matrix changed[4];
    double moved[4][3][4];
    int last = bone + 3 - (bone - 2) % 4, x, z;
    for (int j = bone; j <= last; j++) {
        matrix own, turned, whole;
        if (j == bone) {
            angles_of(j, &x, &z);
            by_angles(x < 0 ? 0 : theta[x], z < 0 ? 0 : theta[z], by, turned);
            times(relatives[j], turned, own);
            if (parent(j) < 0) memcpy(changed[0], own, sizeof own);
            else times(absolutes[parent(j)], own, changed[0]);
        } else if (parent(j) == j - 1) {
            times(relatives[j], turns[j], own);
            times(changed[j - 1 - bone], own, changed[j - bone]);
        } else {
            memset(changed[j - bone], 0, sizeof(matrix));
        }
        times(changed[j - bone], inverses[j], whole);
        memcpy(moved[j - bone], whole, sizeof moved[0]);
    }
#pragma omp parallel for
    for (int v = 0; v < V; v++) {
        double sum[3] = {0};
        const double *b = base + 4 * v;
        for (int j = bone; j <= last; j++)
            for (int r = 0; r < 3; r++) {
                const double *m = moved[j - bone][r];
                sum[r] += weights[v * BONES + j] * (m[0] * b[0] + m[1] * b[1] + m[2] * b[2] + m[3] * b[3]);
            }
        for (int r = 0; r < 3; r++) change[3 * v + r] = turn[r][0] * sum[0] + turn[r][1] * sum[1] + turn[r][2] * sum[2];
    }
}

static void column(double *matrix, int k)
{
#pragma omp parallel for
    for (int i = 0; i < C; i++)
        for (int r = 0; r < 3; r++) matrix[(size_t)(3 * i + r) * (OWN + ANGLES) + OWN + k] = -taken(i, r, change);
}

static void gradient(double *matrix)
{
    double turn[3][3], slope[3][3][3];
    by_axis(theta, turn, slope);
    place(turn);
    for (int k = 0; k < 6; k++) {
        for (int v = 0; v < V; v++)
            for (int r = 0; r < 3; r++) {
                const double *s = skin + 3 * v;
                change[3 * v + r] = k < 3 ? slope[k][r][0] * s[0] + slope[k][r][1] * s[1] + slope[k][r][2] * s[2] : k - 3 == r;
            }
        column(matrix, k);
    }
    for (int bone = 0; bone < BONES; bone++) {
        int of[2];
        angles_of(bone, &of[0], &of[1]);
        for (int by = 0; by < 2; by++)
            if (of[by] >= 0) {
                finger(bone, by, turn);
                column(matrix, of[by]);
            }
    }
#ifdef US
#pragma omp parallel for
    for (int i = 0; i < C; i++)
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 2; k++) {
                const int *t = triangles[places[i]];
                matrix[(size_t)(3 * i + r) * (OWN + ANGLES) + k] = at[3 * t[2] + r] - at[3 * t[k] + r];
            }
#endif
}

static void motions(int k, matrix *m)
{
    for (int i = 0; i < BONES * 16; i++) {
        int r = i / 4 % 4, s = i % 4;
        m[i / 16][r][s] = (r == s) + (r == 3 ? 0 : 0.3 * (bits(i, k) * 0x1p-24 - 0.5));
    }
}

int main(void)
{
    double *errors = memory(3 * C, sizeof(double)), *slope = memory((size_t)3 * C * (OWN + ANGLES), sizeof(double));
    theta = spread(ANGLES, 1, 1, 0);
    motions(2, relatives);
    motions(3, inverses);
    base = spread(4 * V, 4, 1, 0);
    for (int v = 0; v < V; v++) base[4 * v + 3] = 1;
    weights = spread((size_t)V * BONES, 5, 0.1, 0.05);
    points = spread(3 * C, 7, 1, 0);
    at = memory(3 * V, sizeof(double));
    skin = memory(3 * V, sizeof(double));
    change = memory(3 * V, sizeof(double));
#ifdef US
    us = spread(2 * C, 8, 0.5, 0.25);
    triangles = memory(2 * V, sizeof *triangles);
    for (int i = 0; i < 6 * V; i++) triangles[i / 3][i % 3] = bits(i, 9) % V;
    for (int i = 0; i < C; i++) places[i] = bits(i, 6) % (2 * V);
#else
    for (int i = 0; i < C; i++) places[i] = bits(i, 6) % V;
#endif
    COMPARE(objective(errors), errors, 3 * C, gradient(slope), slope, (size_t)3 * C * (OWN + ANGLES));
    return 0;
}
