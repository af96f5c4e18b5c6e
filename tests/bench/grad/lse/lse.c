/* The logarithm of a sum of exponentials; the derivative is what each has of the sum. */
#include "../peers.h"

static double greatest(const double *x)
{
    double top = x[0];
#pragma omp parallel for simd reduction(max : top)
    for (int i = 1; i < N; i++) top = x[i] > top ? x[i] : top;
    return top;
}

static void objective(const double *x, double *value)
{
    double top = greatest(x), sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (int i = 0; i < N; i++) sum += exp(x[i] - top);
    value[0] = top + log(sum);
}

static void gradient(const double *x, double *slope)
{
    double top = greatest(x), sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (int i = 0; i < N; i++) sum += slope[i] = exp(x[i] - top);
    double part = 1 / sum;
#pragma omp parallel for simd
    for (int i = 0; i < N; i++) slope[i] *= part;
}

int main(void)
{
    double *x = spread(N, 1, 1, 0.5), value[1], *slope = memory(N, sizeof(double));
    COMPARE(objective(x, value), value, 1, gradient(x, slope), slope, N);
    return 0;
}
