#include "../survey_c.h"
#define N SIZE(700, 20)
#define LAYERS SIZE(4, 3)
static void chain(real *y, const real *w, const real *b, const real *x)
{
    static real t[2][N];
    for (int k = 0; k < LAYERS; k++) {
        real *to = k == LAYERS - 1 ? y : t[k % 2];
        for (int i = 0; i < N; i++) {
            const real *row = w + (k * N + i) * N;
            real sum = 0;
            for (int j = 0; j < N; j++) sum += row[j] * x[j];
            to[i] = sum + b[k * N + i];
        }
        for (int i = 0; i < N; i++) to[i] = sizeof(real) == 4 ? tanhf(to[i]) : tanh(to[i]);
        x = to;
    }
}
int main(void)
{
    real *w = memory(LAYERS * N * N, sizeof(real)), *b = memory(LAYERS * N, sizeof(real)), *x = memory(N, sizeof(real)), *y = memory(N, sizeof(real));
    for (long i = 0; i < LAYERS * N * N; i++) w[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < LAYERS * N; i++) b[i] = datum(i, 7907) - 0.5;
    for (long i = 0; i < N; i++) x[i] = datum(i, 7901) - 0.5;
    MEASURE(chain(y, w, b, x));
    report(checksum(y, N));
}
