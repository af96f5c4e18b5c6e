#include "../survey_c.h"
#define N SIZE(50000, 20)
#define ROUNDS SIZE(32, 16)
static void means(real *restrict y, const unsigned *restrict seed)
{
    for (int i = 0; i < N; i++) {
        unsigned state = seed[i];
        real sum = 0;
        for (int k = 0; k < ROUNDS; k++) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            sum += (real)(int)(state >> 8) / 16777216;
        }
        y[i] = sum / ROUNDS;
    }
}
int main(void)
{
    unsigned *seed = memory(N, sizeof(unsigned));
    real *y = memory(N, sizeof(real));
    for (long i = 0; i < N; i++) seed[i] = (2 * i + 1) * 2654435769u;
    MEASURE(means(y, seed));
    report(checksum(y, N));
}
