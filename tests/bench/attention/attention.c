/* Attention: softmax(q k^T / sqrt(d)) v, one row of scores at a time. */
#include "../common/bench.h"

static void attention(const real *restrict q, const real *restrict kt, const real *restrict v, real *restrict out)
{
    const real scale = 1 / SQRT((real)DEPTH);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < SIZE; i++) {
        real row[SIZE], most = -INFINITY, sum = 0;
        for (int j = 0; j < SIZE; j++) row[j] = 0;
        for (int c = 0; c < DEPTH; c++)
            for (int j = 0; j < SIZE; j++) row[j] += q[i * DEPTH + c] * kt[c * SIZE + j];
        for (int j = 0; j < SIZE; j++) {
            row[j] *= scale;
            most = row[j] > most ? row[j] : most;
        }
        for (int j = 0; j < SIZE; j++) {
            row[j] = EXP(row[j] - most);
            sum += row[j];
        }
        real total[DEPTH] = {0};
        for (int j = 0; j < SIZE; j++)
            for (int c = 0; c < DEPTH; c++) total[c] += row[j] * v[j * DEPTH + c];
        for (int c = 0; c < DEPTH; c++) out[i * DEPTH + c] = total[c] / sum;
    }
}

/* With k transposed first, as part of the work. */
static void transposed(const real *restrict q, const real *restrict k, const real *restrict v, real *restrict out)
{
    static real kt[DEPTH * SIZE];
    for (int j = 0; j < SIZE; j++)
        for (int c = 0; c < DEPTH; c++) kt[c * SIZE + j] = k[j * DEPTH + c];
    attention(q, kt, v, out);
}

int main(void)
{
    size_t n = (size_t)SIZE * DEPTH;
    real *q = memory(n, sizeof(real)), *k = memory(n, sizeof(real)), *v = memory(n, sizeof(real));
    real *out = memory(n, sizeof(real));
    for (size_t i = 0; i < n; i++) {
        q[i] = (real)(datum(i, 7919) - 0.5);
        k[i] = (real)(datum(i, 104729) - 0.5);
        v[i] = (real)datum(i, 104723);
    }
    MEASURE(transposed(q, k, v, out));
    report(checksum(out, n));
    return 0;
}
