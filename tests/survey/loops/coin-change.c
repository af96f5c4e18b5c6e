#include "../survey_c.h"
#define COINS SIZE(100, 10)
#define AMOUNT SIZE(40000, 400)
static void fewest(int *least, const int *coins)
{
    least[0] = 0;
    for (int a = 1; a <= AMOUNT; a++) least[a] = 1000000;
    for (int c = 0; c < COINS; c++)
        for (int a = coins[c]; a <= AMOUNT; a++) {
            int with = least[a - coins[c]] + 1;
            least[a] = with < least[a] ? with : least[a];
        }
}
int main(void)
{
    int *coins = memory(COINS, sizeof(int)), *least = memory(AMOUNT + 1, sizeof(int));
    for (int i = 0; i < COINS; i++) coins[i] = 40 + i * 389 % 211;
    MEASURE(fewest(least, coins));
    report(checksum_int(least, AMOUNT + 1));
}
