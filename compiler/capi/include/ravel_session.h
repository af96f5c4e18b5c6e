/* Sessions of Ravel for C: SaC text is compiled in this process, and its functions are called with arrays.
 *
 * A session works on one request at a time; its functions may be called on any thread. Texts are UTF-8.
 */
#ifndef RAVEL_SESSION_H
#define RAVEL_SESSION_H

#include "ravel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ravel_session ravel_session;
typedef struct ravel_pending ravel_pending;

/* How a request ended, beside those of ravel_status. */
enum {
    RAVEL_SOURCE = 3,      /* the program is wrong; `ravel_last_error_json` has one report a line, as `ravel check --format json` */
    RAVEL_INTERRUPTED = 4, /* by `ravel_session_interrupt` or `ravel_pending_interrupt` */
    RAVEL_PENDING = 5,     /* not yet: wait on */
    RAVEL_INTERNAL = 6     /* a bug in Ravel */
};

/* What a value is. */
enum {
    RAVEL_SCALAR = 0, /* of `type`; the value in the low bits */
    RAVEL_ARRAY = 1,  /* `bits` is a ravel_array * */
    RAVEL_TEXT = 2,   /* a string: `bits` is a ravel_array * of RAVEL_CHAR */
    RAVEL_TRUTH = 3,  /* arguments only: 0 or 1 for a bool parameter */
    RAVEL_WHOLE = 4,  /* arguments only: an int64_t that becomes what the parameter is */
    RAVEL_REAL = 5    /* arguments only: the bits of a double, which becomes a double or float */
};

typedef struct ravel_value {
    int32_t form;
    int32_t type; /* a ravel_type */
    uint64_t bits;
} ravel_value;

/* A new session; NULL if there can be none. */
ravel_session *ravel_session_new(void);

/* Pending calls go on; the session ends after them. */
void ravel_session_free(ravel_session *session);

/* Takes in definitions. `name` is what reports call the text; a former text of this name is replaced. If there are errors nothing is taken in. */
int32_t ravel_session_define(ravel_session *session, const char *name, const char *text);

/* The same for a file. */
int32_t ravel_session_load(ravel_session *session, const char *path);

/* Calls a function, and waits for at most `milliseconds`. Arguments stay the caller's. With RAVEL_OK `results` holds `*count` values, whose arrays
 * the caller owns; there may be at most `room`. With RAVEL_PENDING `*pending` waits for `ravel_pending_wait`. */
int32_t ravel_session_call(ravel_session *session, const char *function, const ravel_value *arguments, int32_t n,
                           int32_t milliseconds, ravel_value *results, int32_t room, int32_t *count,
                           ravel_pending **pending);

/* Waits on; frees `pending` unless it returns RAVEL_PENDING. */
int32_t ravel_pending_wait(ravel_pending *pending, int32_t milliseconds, ravel_value *results, int32_t room,
                           int32_t *count);

/* Ends a call early; it still has to be waited for. Ask again as long as it is pending: a call that has just begun may not hear it. */
void ravel_pending_interrupt(ravel_pending *pending);

/* Ends what the session is computing; 0 if that is nothing. */
int32_t ravel_session_interrupt(ravel_session *session);

/* Texts that `ravel_text_free` gives back; NULL after an error. What becomes of the with-loops of a call; the instances of a function, one a
 * line; the functions that were defined, one a line. */
char *ravel_session_explain(ravel_session *session, const char *function, const ravel_value *arguments, int32_t n);
char *ravel_session_instances(ravel_session *session, const char *function);
char *ravel_session_functions(ravel_session *session);

/* The heads of the functions that a name such as `f` or `Array::sum` means, or with NULL of all that were defined: a JSON object a line, with
 * `name`, `module` (null for definitions of the session), `head` (as in SaC), `params` (each with `name`, `elem`: the element types that it takes,
 * none if they have no form outside of SaC, and its ranks from `least` to `most`, null for any), `more` (it takes further arguments), `comment`. */
char *ravel_session_heads(ravel_session *session, const char *function);
void ravel_text_free(char *text);

/* The status of the last failure of this thread, and what it has to say as JSON: reports, or a fault with its place. */
int32_t ravel_last_status(void);
const char *ravel_last_error_json(void);

/* Threads of parallel sections, for all sessions. */
void ravel_set_threads(int32_t threads);

const char *ravel_version(void);

#ifdef __cplusplus
}
#endif

#endif
