#include "../survey_c.h"
#define L SIZE(80, 5)
#define M SIZE(90, 6)
#define N SIZE(100, 7)
static void residuals(real *restrict y, const real *restrict a)
{
    static real ij[L * M], ik[L * N], jk[M * N];
    real all = 0;
    for (int i = 0; i < L * N; i++) ik[i] = 0;
    for (int i = 0; i < M * N; i++) jk[i] = 0;
    for (int i = 0; i < L; i++)
        for (int j = 0; j < M; j++) {
            real sum = 0;
            for (int k = 0; k < N; k++) {
                real x = a[(i * M + j) * N + k];
                sum += x, ik[i * N + k] += x, jk[j * N + k] += x;
            }
            all += sum;
            ij[i * M + j] = sum / N;
        }
    for (int i = 0; i < L * N; i++) ik[i] /= M;
    for (int i = 0; i < M * N; i++) jk[i] /= L;
    all /= L * M * N;
    for (int i = 0; i < L; i++)
        for (int j = 0; j < M; j++)
            for (int k = 0; k < N; k++) {
                int at = (i * M + j) * N + k;
                y[at] = a[at] - ij[i * M + j] - ik[i * N + k] - jk[j * N + k] + 2 * all;
            }
}
int main(void)
{
    size_t n = L * M * N;
    real *a = memory(n, sizeof(real)), *y = memory(n, sizeof(real));
    for (size_t i = 0; i < n; i++) a[i] = datum(i, 7919) - 0.5;
    MEASURE(residuals(y, a));
    for (size_t i = 0; i < n; i++) y[i] *= y[i];
    report(checksum(y, n));
}
