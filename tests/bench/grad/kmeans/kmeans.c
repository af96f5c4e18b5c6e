/* k-means: Newton's step leads each center to the mean of its points, of which this is the negative. */
#include "../peers.h"

static double nearest(const double *p, const double *centers, int *which)
{
    double least = INFINITY;
    for (int j = 0; j < K; j++) {
        double distance = 0;
        for (int l = 0; l < D; l++) distance += (p[l] - centers[j * D + l]) * (p[l] - centers[j * D + l]);
        if (distance < least) {
            least = distance;
            *which = j;
        }
    }
    return least;
}

static void objective(const double *points, const double *centers, double *value)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        int which;
        sum += nearest(points + i * D, centers, &which);
    }
    value[0] = sum;
}

static void gradient(const double *points, const double *centers, double *step)
{
    static double total[K * D], members[K];
    memset(total, 0, sizeof total);
    memset(members, 0, sizeof members);
#pragma omp parallel for schedule(static) reduction(+ : total[ : K * D], members[ : K])
    for (int i = 0; i < N; i++) {
        int which = 0;
        nearest(points + i * D, centers, &which);
        for (int l = 0; l < D; l++) total[which * D + l] += points[i * D + l];
        members[which]++;
    }
    for (int j = 0; j < K; j++)
        for (int l = 0; l < D; l++) step[j * D + l] = centers[j * D + l] - total[j * D + l] / members[j];
}

int main(void)
{
    double *points = spread(N * D, 1, 1, 0.5), *centers = points + (N - K) * D, value[1], *step = memory(K * D, sizeof(double));
    COMPARE(objective(points, centers, value), value, 1, gradient(points, centers, step), step, K * D);
    return 0;
}
