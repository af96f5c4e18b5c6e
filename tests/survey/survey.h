/* For the SaC programs of the survey: what most of them use. */
use StdIO: all;
use Array: all;
use Measure: { datum, checksum, report };
#include "../bench/common/measure.h"
/* The size of the table, or with -DQUICK that of the tests. */
#ifdef QUICK
#define SIZE(table, quick) quick
#else
#define SIZE(table, quick) table
#endif

#define DATA(i, k) TOREAL(datum(i, k) - 0.5)

/* With -DHIDDEN, extents are known to the run only. */
#ifdef HIDDEN
#define INPUT Hiding::hideShape
#else
#define INPUT
#endif
