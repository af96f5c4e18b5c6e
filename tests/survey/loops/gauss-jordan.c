#include "../survey_c.h"
#include <string.h>
#define N SIZE(128, 8)
static void inverse(real *y, real *w, const real *a)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 2 * N; j++) w[i * 2 * N + j] = j < N ? a[i * N + j] : i == j - N;
    for (int k = 0; k < N; k++) {
        real *row = w + k * 2 * N, p = 1 / row[k];
        for (int j = 0; j < 2 * N; j++) row[j] *= p;
        for (int i = 0; i < N; i++) {
            real *r = w + i * 2 * N, f = r[k];
            if (i != k)
                for (int j = 0; j < 2 * N; j++) r[j] -= f * row[j];
        }
    }
    for (int i = 0; i < N; i++) memcpy(y + i * N, w + i * 2 * N + N, N * sizeof(real));
}
int main(void)
{
    real *a = memory(N * N, sizeof(real)), *w = memory(2 * N * N, sizeof(real)), *y = memory(N * N, sizeof(real));
    for (long i = 0; i < N; i++)
        for (long j = 0; j < N; j++) a[i * N + j] = datum(i * i * 31 + i * j * 17 + j, 7919) - 0.5 + (i == j ? N : 0);
    MEASURE(inverse(y, w, a));
    report(checksum(y, N * N));
}
