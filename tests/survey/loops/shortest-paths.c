/* The same as beside floyd-warshall.sac. */
#include "floyd-warshall.c"
