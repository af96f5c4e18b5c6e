/* The same as beside life.sac. */
#include "life.c"
