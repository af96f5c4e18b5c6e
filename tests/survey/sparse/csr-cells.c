/* The same as beside csr-loops.sac. */
#include "csr-loops.c"
