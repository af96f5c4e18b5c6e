/* Least squares of a polynomial: what is missed at a place, times the powers there. */
#include "../peers.h"

static double place(int i) { return -1 + i * 2.0 / (N - 1); }

static double miss(const double *x, double t)
{
    double sum = (t > 0) - (t < 0), power = 1;
    for (int j = 0; j < M; j++) {
        sum -= x[j] * power;
        power *= t;
    }
    return sum;
}

static void objective(const double *x, double *value)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        double e = miss(x, place(i));
        sum += e * e;
    }
    value[0] = sum / 2;
}

static void gradient(const double *x, double *slope)
{
    for (int j = 0; j < M; j++) slope[j] = 0;
#pragma omp parallel for reduction(+ : slope[ : M])
    for (int i = 0; i < N; i++) {
        double t = place(i), e = -miss(x, t);
        for (int j = 0; j < M; j++) {
            slope[j] += e;
            e *= t;
        }
    }
}

int main(void)
{
    double *x = spread(M, 1, 1, 0.5), value[1], slope[M];
    COMPARE(objective(x, value), value, 1, gradient(x, slope), slope, M);
    return 0;
}
