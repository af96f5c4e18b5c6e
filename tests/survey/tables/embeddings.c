#include "../survey_c.h"
#define N SIZE(5000, 10)
#define BAG 8
#define WORDS SIZE(1000, 20)
#define DIM SIZE(32, 4)
static void bags(real *restrict y, const real *restrict table, const int *restrict code, const int *restrict bag)
{
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < DIM; j++) y[i * DIM + j] = 0;
        for (int k = 0; k < BAG; k++) {
            const real *row = table + code[bag[i * BAG + k]] * DIM;
            for (int j = 0; j < DIM; j++) y[i * DIM + j] += row[j];
        }
    }
}
int main(void)
{
    real *table = memory(WORDS * DIM, sizeof(real)), *y = memory(N * DIM, sizeof(real));
    int *code = memory(1009, sizeof(int)), *bag = memory(N * BAG, sizeof(int));
    for (int i = 0; i < WORDS * DIM; i++) table[i] = datum(i, 7919) - 0.5;
    for (int i = 0; i < 1009; i++) code[i] = i % 1009 * 7919 % 1009 % WORDS;
    for (int i = 0; i < N * BAG; i++) bag[i] = i % 1009 * 515 % 1009;
    MEASURE(bags(y, table, code, bag));
    report(checksum(y, N * DIM));
}
