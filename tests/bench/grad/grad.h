/* For the programs of tests/bench/grad: a row is measured, or with SHOW all numbers of its result are written. The expression calls a function that
 * is not inlined. Sizes come as macros; those for tests stand in the program. */
#include "../common/rows.h"

#ifdef SHOW
#define ROW(name, result, operand, expression) if (wanted(name)) { result = expression; values(result); }
#else
#define ROW(name, result, operand, expression) \
    if (wanted(name)) { MEASURE(result, operand, expression); report(digest(result)); }
#endif
