#include "../survey_c.h"
#define N SIZE(2000, 10)
#define WIDTH SIZE(100, 12)
static void caesar(char *restrict y, const char *restrict text, const int *restrict key)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < WIDTH; j++) {
            char c = text[i * WIDTH + j];
            if (c >= 'a' && c <= 'z') c = (c - 97 + key[i]) % 26 + 97;
            else if (c >= 'A' && c <= 'Z') c = (c - 65 + key[i]) % 26 + 65;
            y[i * WIDTH + j] = c;
        }
}
int main(void)
{
    char *text = memory(N * WIDTH, 1), *y = memory(N * WIDTH, 1);
    int *key = memory(N, sizeof(int)), *z = memory(N * WIDTH, sizeof(int));
    for (int i = 0; i < N * WIDTH; i++) text[i] = 32 + i % 1009 * 7919 % 1009 % 95;
    for (int i = 0; i < N; i++) key[i] = i % 26;
    MEASURE(caesar(y, text, key));
    for (int i = 0; i < N * WIDTH; i++) z[i] = y[i];
    report(checksum_int(z, N * WIDTH));
}
