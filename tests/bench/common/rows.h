/* For the programs of tests/bench/library: a row is
 *
 *     if (wanted("name")) { operands; MEASURE(result, operand, expression); report(digest(result)); }
 *
 * where the expression calls a function that is not inlined. SIZE chooses between the size of the table and one for tests.
 */
#include "measure.h"

#ifdef QUICK
#define SIZE(table, test) test
#else
#define SIZE(table, test) table
#endif
