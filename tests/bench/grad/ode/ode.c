/* Runge and Kutta: the states of all steps are kept, and the steps are walked back. */
#include "../peers.h"

static double *k[4], *place, *kept;

/* One step from y to `next`; the four changes stay in k. */
static void step(const double *x, const double *y, double *next, double h)
{
    static const double part[4] = {0, 0.5, 0.5, 1};
    for (int s = 0; s < 4; s++) {
        const double *from = y;
        if (s) {
            from = place;
#pragma omp parallel for simd
            for (int i = 0; i < N; i++) place[i] = y[i] + part[s] * h * k[s - 1][i];
        }
        k[s][0] = x[0];
#pragma omp parallel for simd
        for (int i = 1; i < N; i++) k[s][i] = x[i] * from[i - 1];
    }
#pragma omp parallel for simd
    for (int i = 0; i < N; i++) next[i] = y[i] + h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
}

static void objective(const double *x, double *y)
{
    memset(y, 0, N * sizeof(double));
    for (int t = 0; t < S; t++) step(x, y, y, 2.0 / S);
}

static void gradient(const double *x, double *slope)
{
    static const double part[4] = {0, 0.5, 0.5, 1}, weight[4] = {1, 2, 2, 1};
    static double *back, *change, *now;
    double h = 2.0 / S;
    if (!back) {
        back = memory(N, sizeof(double));
        change = memory(N + 1, sizeof(double));
        now = memory(N, sizeof(double));
    }
    memset(kept, 0, N * sizeof(double));
    for (int t = 0; t < S; t++) step(x, kept + (size_t)t * N, kept + (size_t)(t + 1) * N, h);
    memset(slope, 0, N * sizeof(double));
    memset(back, 0, N * sizeof(double));
    back[N - 1] = 1;
    for (int t = S - 1; t >= 0; t--) {
        const double *y = kept + (size_t)t * N;
        step(x, y, now, h);
        /* `change` is the derivative by k[s], one place further to the left for what follows it; `back` that by y. */
        memcpy(now, back, N * sizeof(double));
        for (int s = 3; s >= 0; s--) {
            double inner = s < 3 ? part[s + 1] * h : 0;
#pragma omp parallel for simd
            for (int i = 0; i < N; i++) {
                /* What k[s] adds to the place of k[s + 1], whose change is still in `change`. */
                double through = s < 3 && i + 1 < N ? inner * x[i + 1] * change[i + 1] : 0;
                place[i] = h / 6 * weight[s] * now[i] + through;
            }
            double *swap = change;
            change = place;
            place = swap;
            slope[0] += change[0];
#pragma omp parallel for simd
            for (int i = 1; i < N; i++) {
                double at = y[i - 1] + (s ? part[s] * h * k[s - 1][i - 1] : 0);
                slope[i] += change[i] * at;
                back[i - 1] += change[i] * x[i];
            }
        }
    }
}

int main(void)
{
    double *x = spread(N, 1, 1, 0.5), *value = memory(N, sizeof(double)), *slope = memory(N, sizeof(double));
    for (int s = 0; s < 4; s++) k[s] = memory(N, sizeof(double));
    place = memory(N + 1, sizeof(double));
    kept = memory((size_t)N * (S + 1), sizeof(double));
    COMPARE(objective(x, value), value, N, gradient(x, slope), slope, N);
    return 0;
}
