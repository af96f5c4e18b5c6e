#include "../survey_c.h"
#define N SIZE(200, 10)
#define LIMIT SIZE(50, 12)
static void picture(int *y, const double *x)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double a = x[j] * 2.5 - 2.003, b = x[i] * 2.5 - 1.251, re = 0, im = 0;
            int k = 0;
            while (k < LIMIT && re * re + im * im <= 4) {
                double t = re * re - im * im + a;
                im = 2 * re * im + b;
                re = t;
                k++;
            }
            y[i * N + j] = k;
        }
}
int main(void)
{
    double *x = memory(N, sizeof(double));
    int *y = memory(N * N, sizeof(int));
    for (int i = 0; i < N; i++) x[i] = (double)i / N;
    MEASURE(picture(y, x));
    report(checksum_int(y, N * N));
}
