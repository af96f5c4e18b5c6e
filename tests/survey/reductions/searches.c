#include "../survey_c.h"
#define M SIZE(16000, 12)
#define N SIZE(100, 20)
static void found(int *restrict y, const real *restrict a, const real *restrict sorted, int size)
{
    for (int i = 0; i < M; i++) {
        int at, low = 0, high = size;
        for (at = 0; at < N; at++)
            if (a[i * N + at] > (real)0.48) break;
        while (low < high) {
            int middle = (low + high) / 2;
            if (sorted[middle] < a[i * N]) low = middle + 1;
            else high = middle;
        }
        y[i] = at + 1000 * low;
    }
}
int main(void)
{
    real *a = memory(M * N, sizeof(real)), *sorted = memory(5000, sizeof(real));
    int *y = memory(M, sizeof(int));
    for (long i = 0; i < M * N; i++) a[i] = datum(i, 7919) - 0.5;
    for (int i = 0; i < 5000; i++) sorted[i] = (real)i / 5000 - (real)0.5;
    MEASURE(found(y, a, sorted, 5000));
    report(checksum_int(y, M));
}
