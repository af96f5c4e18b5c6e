#include "../survey_c.h"
#define N SIZE(100000, 30)
static int decoded(int *restrict y, const int *restrict value, const int *restrict length)
{
    int at = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < length[i]; j++) y[at++] = value[i];
    return at;
}
int main(void)
{
    int *value = memory(N, sizeof(int)), *length = memory(N, sizeof(int)), *y = memory(12 * N, sizeof(int)), n = 0;
    for (int i = 0; i < N; i++) value[i] = i % 1009 * 7919 % 1009, length[i] = i % 1009 * 515 % 1009 % 12 + 1;
    MEASURE(n = decoded(y, value, length));
    report(checksum_int(y, n));
}
