#include "../survey_c.h"
#define N SIZE(4000000, 200)
#define M 4
static int occurrences(const char *text, const char *word)
{
    int count = 0;
    for (int i = 0; i < N - M + 1; i++) {
        int same = 1;
        for (int k = 0; k < M; k++) same &= text[i + k] == word[k];
        count += same;
    }
    return count;
}
int main(void)
{
    char *text = memory(N, 1), *word = memory(M, 1);
    int y = 0;
    for (int i = 0; i < N; i++) text[i] = 97 + i % 1009 * 7919 % 1009 % 3;
    for (int i = 0; i < M; i++) word[i] = text[i + 5];
    MEASURE(y = occurrences(text, word));
    report(y);
}
