#include "../survey_c.h"
#define N SIZE(512, 12)
#define STEPS SIZE(5, 3)
typedef unsigned char cell;
static cell *boards[2];
static inline cell lives(const cell *a, const cell *b, const cell *c, int l, int j, int r)
{
    cell count = a[l] + a[j] + a[r] + b[l] + b[r] + c[l] + c[j] + c[r];
    return (count == 3) | (b[j] & (count == 2));
}
static void generation(cell *restrict to, const cell *restrict from)
{
    for (int i = 0; i < N; i++) {
        const cell *a = from + (i + N - 1) % N * N, *b = from + i * N, *c = from + (i + 1) % N * N;
        to[i * N] = lives(a, b, c, N - 1, 0, 1);
        for (int j = 1; j < N - 1; j++) to[i * N + j] = lives(a, b, c, j - 1, j, j + 1);
        to[i * N + N - 1] = lives(a, b, c, N - 2, N - 1, 0);
    }
}
static void life(int *y, const cell *board)
{
    for (int t = 0; t < STEPS; t++) {
        generation(boards[t % 2], board);
        board = boards[t % 2];
    }
    for (int i = 0; i < N * N; i++) y[i] = board[i];
}
int main(void)
{
    cell *board = memory(N * N, 1);
    int *y = memory(N * N, sizeof(int));
    boards[0] = memory(N * N, 1), boards[1] = memory(N * N, 1);
    for (long i = 0; i < N * N; i++) board[i] = datum(i, 7919) < 0.3;
    MEASURE(life(y, board));
    report(checksum_int(y, N * N));
}
