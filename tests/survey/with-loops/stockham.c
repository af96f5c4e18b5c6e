#include "../survey_c.h"
#define N SIZE(65536, 32)
#ifdef FLOAT
#define COS cosf
#define SIN sinf
#else
#define COS cos
#define SIN sin
#endif
static void round_of(real *restrict y, const real *restrict x, int m, int s, const real *cosine, const real *sine)
{
    for (int p = 0; p < m; p++) {
        real c = cosine[p * s], d = sine[p * s];
        const real *a = x + p * s * 2, *b = a + m * s * 2;
        real *u = y + p * s * 4, *v = u + s * 2;
        for (int q = 0; q < s; q++) {
            real re = a[2 * q] - b[2 * q], im = a[2 * q + 1] - b[2 * q + 1];
            u[2 * q] = a[2 * q] + b[2 * q], u[2 * q + 1] = a[2 * q + 1] + b[2 * q + 1];
            v[2 * q] = re * c - im * d, v[2 * q + 1] = re * d + im * c;
        }
    }
}
static const real *fft(real *a, real *b, const real *x, const real *cosine, const real *sine)
{
    for (int m = N / 2; m >= 1; m /= 2) {
        round_of(a, x, m, N / (2 * m), cosine, sine);
        x = a, a = b, b = (real *)x;
    }
    return x;
}
int main(void)
{
    real *x = memory(2 * N, sizeof(real)), *a = memory(2 * N, sizeof(real)), *b = memory(2 * N, sizeof(real));
    real *cosine = memory(N / 2, sizeof(real)), *sine = memory(N / 2, sizeof(real)), turn = (real)6.283185307179586 / N;
    const real *y;
    for (long i = 0; i < 2 * N; i++) x[i] = datum(i, 7919) - 0.5;
    for (long i = 0; i < N / 2; i++) cosine[i] = COS(turn * i), sine[i] = -SIN(turn * i);
    MEASURE(y = fft(a, b, x, cosine, sine));
    report(checksum(y, 2 * N));
}
