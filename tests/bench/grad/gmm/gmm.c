/* A mixture of normal distributions: the likelihoods of a point by the components, and back through them. */
#include "../peers.h"

#define C (D * (D - 1) / 2)
static const double GAMMA = 1.2;
static const int FREE = 1;

static double *alpha, *mu, *q, *l, *x, *scale, *sums;

/* Row by row, what the triangular matrix of component j makes of point i; and the logarithm of its likelihood. */
static double likely(const double *p, int j, double *off, double *y)
{
    const double *low = l + j * C;
    double square = 0;
    for (int r = 0; r < D; r++) {
        off[r] = p[r] - mu[j * D + r];
        y[r] = scale[j * D + r] * off[r];
    }
    for (int s = 0; s < D; s++)
        for (int r = s + 1; r < D; r++) y[r] += *low++ * off[s];
    for (int r = 0; r < D; r++) square += y[r] * y[r];
    return alpha[j] + sums[j] - 0.5 * square;
}

/* The logarithm of a sum of exponentials, whose shares take their place. */
static double shares(double *a)
{
    double top = a[0], sum = 0;
    for (int j = 1; j < K; j++) top = a[j] > top ? a[j] : top;
    for (int j = 0; j < K; j++) sum += a[j] = exp(a[j] - top);
    for (int j = 0; j < K; j++) a[j] /= sum;
    return top + log(sum);
}

static void prepare(void)
{
    for (int j = 0; j < K; j++) {
        sums[j] = 0;
        for (int r = 0; r < D; r++) {
            scale[j * D + r] = exp(q[j * D + r]);
            sums[j] += q[j * D + r];
        }
    }
}

static void objective(double *value)
{
    double fit = 0, of_alpha[K], squares = 0, all = 0, gamma = 0, freedom = D + FREE + 1;
    prepare();
#pragma omp parallel for reduction(+ : fit)
    for (int i = 0; i < N; i++) {
        double off[D], y[D], logs[K];
        for (int j = 0; j < K; j++) logs[j] = likely(x + i * D, j, off, y);
        fit += shares(logs);
    }
    memcpy(of_alpha, alpha, sizeof of_alpha);
    fit -= N * (0.5 * D * log(2 * M_PI) + shares(of_alpha));
    for (int j = 0; j < K * D; j++) squares += scale[j] * scale[j];
    for (int j = 0; j < K * C; j++) squares += l[j] * l[j];
    for (int j = 0; j < K; j++) all += sums[j];
    for (int j = 0; j < D; j++) gamma += lgamma(0.5 * freedom - 0.5 * j);
    gamma += 0.25 * D * (D - 1) * log(M_PI);
    value[0] = fit + K * (freedom * D * log(GAMMA / sqrt(2)) - gamma) - 0.5 * GAMMA * GAMMA * squares + FREE * all;
}

/* Behind each other: by alpha, mu, q, l. */
static void gradient(double *slope)
{
    enum { MU = K, Q = MU + K * D, L = Q + K * D, ALL = L + K * C };
    double of_alpha[K];
    prepare();
    memset(slope, 0, ALL * sizeof(double));
#pragma omp parallel for reduction(+ : slope[ : ALL])
    for (int i = 0; i < N; i++) {
        double off[D], y[K][D], logs[K], back[D];
        for (int j = 0; j < K; j++) logs[j] = likely(x + i * D, j, off, y[j]);
        shares(logs);
        for (int j = 0; j < K; j++) {
            const double *low = l + j * C;
            double *into = slope + L + j * C, w = logs[j];
            slope[j] += w;
            for (int r = 0; r < D; r++) {
                off[r] = x[i * D + r] - mu[j * D + r];
                y[j][r] *= -w;
                back[r] = y[j][r] * scale[j * D + r];
                slope[Q + j * D + r] += w + y[j][r] * off[r] * scale[j * D + r];
            }
            for (int s = 0; s < D; s++)
                for (int r = s + 1; r < D; r++) {
                    back[s] += *low++ * y[j][r];
                    *into++ += y[j][r] * off[s];
                }
            for (int r = 0; r < D; r++) slope[MU + j * D + r] -= back[r];
        }
    }
    memcpy(of_alpha, alpha, sizeof of_alpha);
    shares(of_alpha);
    for (int j = 0; j < K; j++) slope[j] -= N * of_alpha[j];
    for (int j = 0; j < K * D; j++) slope[Q + j] += FREE - GAMMA * GAMMA * scale[j] * scale[j];
    for (int j = 0; j < K * C; j++) slope[L + j] -= GAMMA * GAMMA * l[j];
}

int main(void)
{
    size_t all = K + 2 * K * D + K * C;
    double value[1], *slope = memory(all, sizeof(double));
    alpha = spread(K, 1, 2, 0);
    mu = spread(K * D, 2, 1, 0.5);
    q = spread(K * D, 3, 2, 0);
    l = spread(K * C, 4, 2, 0);
    x = spread(N * D, 5, 2, 0);
    scale = memory(K * D, sizeof(double));
    sums = memory(K, sizeof(double));
    COMPARE(objective(value), value, 1, gradient(slope), slope, all);
    return 0;
}
