#include "../survey_c.h"
#include <string.h>
#define ITEMS SIZE(300, 10)
#define CAPACITY SIZE(20000, 300)
static void best_values(int *best, const int *weights, const int *values)
{
    memset(best, 0, (CAPACITY + 1) * sizeof(int));
    for (int i = 0; i < ITEMS; i++) {
        int weight = weights[i], value = values[i];
        for (int w = CAPACITY; w >= weight; w--) {
            int with = best[w - weight] + value;
            best[w] = with > best[w] ? with : best[w];
        }
    }
}
int main(void)
{
    int *weights = memory(ITEMS, sizeof(int)), *values = memory(ITEMS, sizeof(int)), *best = memory(CAPACITY + 1, sizeof(int));
    for (int i = 0; i < ITEMS; i++) weights[i] = 20 + i * 389 % 211, values[i] = 1 + i * 577 % 997;
    MEASURE(best_values(best, weights, values));
    report(checksum_int(best, CAPACITY + 1));
}
