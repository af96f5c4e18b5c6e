/* For the SaC programs of the benchmarks: the element type, and how an expression is timed. */

#ifdef FLOAT
#define REAL float
#define TOREAL(x) tof(x)
#define R(x) x##f
#else
#define REAL double
#define TOREAL(x) tod(x)
#define R(x) x##d
#endif

/* Seconds after which no further measurement starts, and the most measurements. */
#ifndef BUDGET
#define BUDGET 0.3
#endif
#ifndef MOST
#define MOST 50
#endif

/* A device works on while the program goes on: WAIT is an element of the result, which a time ends with. */
#ifdef WAIT
#define SETTLED if (tod(WAIT) == -123456.75) { printf(" !"); }
#else
#define SETTLED
#endif

/*
 * result = expression, twice to warm up and then again and again; prints the seconds of each time but these. The second result is made while the first
 * one is there, in memory that the system gives then.
 * `operand`, a variable of the expression, is hidden each time, so that no two evaluations are known to be equal.
 */
#define MEASURE(result, operand, expression) \
    result = expression; \
    SETTLED \
    operand = Hiding::hideValue(operand); \
    result = expression; \
    SETTLED \
    printf("seconds"); \
    spent = 0d; \
    for (runs = 0; runs == 0 || (spent < BUDGET && runs < MOST); runs++) { \
        operand = Hiding::hideValue(operand); \
        start = Measure::now(); \
        result = expression; \
        SETTLED \
        time = Measure::now() - start; \
        spent += time; \
        printf(" %.9f", time); \
    } \
    printf("\n")
