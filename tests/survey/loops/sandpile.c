#include "../survey_c.h"
#include <string.h>
#define N SIZE(60, 7)
#define GRAINS SIZE(20, 5)
static void topple(int *board, const int *first)
{
    memcpy(board, first, N * N * sizeof(int));
    for (int moved = 1; moved;) {
        moved = 0;
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++) {
                int *b = board + i * N + j, q = *b / 4;
                if (*b >= 4) {
                    *b -= 4 * q;
                    b[-N] += q, b[N] += q, b[-1] += q, b[1] += q;
                    moved = 1;
                }
            }
    }
}
int main(void)
{
    int *first = memory(N * N, sizeof(int)), *board = memory(N * N, sizeof(int));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) first[i * N + j] = i == N / 2 && j == N / 2 ? GRAINS * 100 : (i * 7 + j * 3) % 4;
    MEASURE(topple(board, first));
    report(checksum_int(board, N * N));
}
