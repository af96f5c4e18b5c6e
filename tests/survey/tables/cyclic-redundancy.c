#include "../survey_c.h"
#define N SIZE(100000, 100)
static unsigned crc(const unsigned char *text)
{
    unsigned table[256], c = 4294967295u;
    for (unsigned i = 0; i < 256; i++) {
        unsigned r = i;
        for (int k = 0; k < 8; k++) r = r & 1 ? (r >> 1) ^ 3988292384u : r >> 1;
        table[i] = r;
    }
    for (int i = 0; i < N; i++) c = table[(c ^ text[i]) & 255] ^ (c >> 8);
    return ~c;
}
int main(void)
{
    unsigned char *text = memory(N, 1);
    unsigned y = 0;
    for (int i = 0; i < N; i++) text[i] = i % 1009 * 7919 % 1009 % 256;
    MEASURE(y = crc(text));
    report(y);
}
