#include "../survey_c.h"
#define N SIZE(100000, 100)
static int lower(char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
static void letters(int *y, const char *text)
{
    for (int k = 0; k < 26; k++) {
        int n = 0;
        for (int i = 0; i < N; i++) n += lower(text[i]) == 97 + k;
        y[k] = n;
    }
}
int main(void)
{
    char *text = memory(N, 1);
    int y[26];
    for (int i = 0; i < N; i++) text[i] = 32 + i % 1009 * 7919 % 1009 % 95;
    MEASURE(letters(y, text));
    report(checksum_int(y, 26));
}
