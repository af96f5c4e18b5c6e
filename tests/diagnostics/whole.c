#include "ravel.h"
ravel_array *wrong_rank(int n)
{
    int64_t shape[] = {n, n};
    return ravel_array_new(RAVEL_INT, 2, shape);
}
