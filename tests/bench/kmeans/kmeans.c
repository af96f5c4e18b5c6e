/* STEPS improvements of COUNT centers of SIZE points in space. */
#include "../common/bench.h"
#include <string.h>

#define D 3

static void kmeans(const real *points, real *centers)
{
    memcpy(centers, points, COUNT * D * sizeof(real));
    for (int t = 0; t < STEPS; t++) {
        real total[COUNT * D] = {0};
        int members[COUNT] = {0};
#pragma omp parallel for schedule(static) reduction(+ : total[ : COUNT * D], members[ : COUNT])
        for (int i = 0; i < SIZE; i++) {
            int best = 0;
            real least = INFINITY;
            for (int c = 0; c < COUNT; c++) {
                real distance = 0;
                for (int j = 0; j < D; j++) {
                    real x = points[i * D + j] - centers[c * D + j];
                    distance += x * x;
                }
                if (distance < least) {
                    best = c;
                    least = distance;
                }
            }
            for (int j = 0; j < D; j++) total[best * D + j] += points[i * D + j];
            members[best]++;
        }
        for (int c = 0; c < COUNT; c++)
            for (int j = 0; j < D && members[c]; j++) centers[c * D + j] = total[c * D + j] / members[c];
    }
}

int main(void)
{
    real *points = memory(SIZE * D, sizeof(real)), centers[COUNT * D];
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < D; j++)
            points[i * D + j] = (real)((i + 2 * j) % COUNT + datum(3 * i + j, 7919) * datum(i, 104729));
    MEASURE(kmeans(points, centers));
    report(checksum(centers, COUNT * D));
    return 0;
}
