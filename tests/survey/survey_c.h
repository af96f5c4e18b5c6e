/* For the C programs of the survey: what the benchmarks have, and sizes. */
#include "../bench/common/bench.h"

/* The size of the table, or with -DQUICK that of the tests. */
#ifdef QUICK
#define SIZE(table, quick) (quick)
#else
#define SIZE(table, quick) (table)
#endif
