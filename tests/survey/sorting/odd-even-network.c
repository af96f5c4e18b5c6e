/* The same as beside exchange-steps.sac. */
#include "exchange-steps.c"
