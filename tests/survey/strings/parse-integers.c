#include "../survey_c.h"
#define N SIZE(300000, 200)
static int numbers(int *y, const char *text)
{
    int count = 0, value = 0, inside = 0;
    for (int i = 0; i < N; i++) {
        char c = text[i];
        if (c >= '0' && c <= '9') {
            value = 10 * value + (c - '0');
            inside = 1;
        } else {
            if (inside) y[count++] = value;
            value = inside = 0;
        }
    }
    return count;
}
int main(void)
{
    char *text = memory(N, 1);
    int *y = memory(N, sizeof(int)), n = 0;
    for (int i = 0; i < N; i++) text[i] = i % 7 == 6 || i % 11 == 3 ? ' ' : 48 + i % 1009 * 7919 % 1009 % 10;
    MEASURE(n = numbers(y, text));
    report(checksum_int(y, n));
}
