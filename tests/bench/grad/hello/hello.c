/* The square of a number. */
#include "../peers.h"

int main(void)
{
    volatile double x = 1.5;
    double value[1], slope[1];
    COMPARE(value[0] = x * x, value, 1, slope[0] = 2 * x, slope, 1);
    return 0;
}
