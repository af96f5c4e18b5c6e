/* The determinant by minors along the first row; the derivative by an element is its minor. */
#include "../peers.h"

/* Of the rows from `row` on, and `m` columns. */
static double minors(const double *a, int row, int m, const int *columns)
{
    double sum = 0;
    int rest[N];
    if (m == 1) return a[row * N + columns[0]];
    for (int j = 1; j < m; j++) rest[j - 1] = columns[j];
    for (int j = 0; j < m; j++) {
        double part = a[row * N + columns[j]] * minors(a, row + 1, m - 1, rest);
        sum += j % 2 ? -part : part;
        rest[j] = columns[j];
    }
    return sum;
}

static void objective(const double *a, double *value)
{
    int columns[N];
    for (int j = 0; j < N; j++) columns[j] = j;
    value[0] = minors(a, 0, N, columns);
}

static void gradient(const double *a, double *slope)
{
    static double b[N * N];
    for (int i = 0; i < N; i++) {
        /* Row i moves to the front, where each of its elements has a minor of its own. */
        memcpy(b, a + i * N, N * sizeof(double));
        memcpy(b + N, a, i * N * sizeof(double));
        memcpy(b + (i + 1) * N, a + (i + 1) * N, (N - 1 - i) * N * sizeof(double));
        for (int j = 0; j < N; j++) {
            int columns[N];
            for (int c = 0; c < N - 1; c++) columns[c] = c < j ? c : c + 1;
            double minor = N == 1 ? 1 : minors(b, 1, N - 1, columns);
            slope[i * N + j] = (i + j) % 2 ? -minor : minor;
        }
    }
}

int main(void)
{
    double *a = spread(N * N, 1, 1, 0.5), value[1], *slope = memory(N * N, sizeof(double));
    COMPARE(objective(a, value), value, 1, gradient(a, slope), slope, N * N);
    return 0;
}
