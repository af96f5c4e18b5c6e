#include "../survey_c.h"
#include <string.h>
#define N SIZE(20000, 60)
#define SYMBOLS SIZE(64, 12)
static void places(int *code, const int *text)
{
    int table[SYMBOLS];
    for (int j = 0; j < SYMBOLS; j++) table[j] = j;
    for (int i = 0; i < N; i++) {
        int p = 0;
        while (table[p] != text[i]) p++;
        code[i] = p;
        memmove(table + 1, table, p * sizeof(int));
        table[0] = text[i];
    }
}
int main(void)
{
    int *text = memory(N, sizeof(int)), *code = memory(N, sizeof(int));
    for (int i = 0; i < N; i++) text[i] = (i * i % 1009 * 31 + i * 17) % 1009 % SYMBOLS;
    MEASURE(places(code, text));
    report(checksum_int(code, N));
}
