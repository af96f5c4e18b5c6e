/* Arrays of Ravel for C: what C functions that SaC calls, libraries made by `ravel build --lib` and their callers share.
 *
 * Every `ravel_array *` is counted. Who made one, or was given one, holds a reference and gives it up with
 * `ravel_array_release`. Arrays are immutable as soon as a second reference exists: write only to what `ravel_array_new` has
 * just made. Functions may be called on any thread.
 */
#ifndef RAVEL_H
#define RAVEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ravel_array ravel_array;

/* Element types, with the names that SaC gives them. */
typedef enum ravel_type {
    RAVEL_BOOL = 0,   /* one byte, 0 or 1 */
    RAVEL_CHAR = 1,   /* unsigned char */
    RAVEL_BYTE = 2,   /* int8_t */
    RAVEL_SHORT = 3,  /* int16_t */
    RAVEL_INT = 4,    /* int32_t */
    RAVEL_LONG = 5,   /* int64_t */
    RAVEL_UBYTE = 6,  /* uint8_t */
    RAVEL_USHORT = 7, /* uint16_t */
    RAVEL_UINT = 8,   /* uint32_t */
    RAVEL_ULONG = 9,  /* uint64_t */
    RAVEL_FLOAT = 10,
    RAVEL_DOUBLE = 11,
    RAVEL_OBJECT = 12 /* no number: a value that only SaC code looks into */
} ravel_type;

/* How a call ended. */
typedef enum ravel_status {
    RAVEL_OK = 0,
    RAVEL_FAULT = 1,   /* a run-time error in SaC code */
    RAVEL_ARGUMENT = 2 /* the call itself was wrong */
} ravel_status;

/* Called once with the owner of borrowed elements, when no array needs them any more. */
typedef void (*ravel_release_function)(void *owner);

/* A new array of this shape, all elements zero. `shape` holds `rank` extents, outermost axis first.
 * NULL if the shape or the type is not possible, or memory is exhausted: see `ravel_last_error`. */
ravel_array *ravel_array_new(ravel_type type, int32_t rank, const int64_t *shape);

/* An array over `data`, which lies in row-major order and stays as it is until `release(owner)` is called; `release` may be NULL,
 * then the elements stay for ever. Ravel reads up to 64 bytes beyond both ends (in libraries and
 * sessions 16 before the first element), so elements whose surroundings lie in other pages
 * of memory, or that are not aligned to their size, are copied: then `ravel_array_data` is not `data`, and `release(owner)` has
 * been called when this returns. NULL as for `ravel_array_new`; then `release` is never called. */
ravel_array *ravel_array_borrow(const void *data, ravel_type type, int32_t rank, const int64_t *shape,
                                ravel_release_function release, void *owner);

/* The elements in row-major order; NULL for objects. */
void *ravel_array_data(ravel_array *array);

/* The extents, as many as `ravel_array_rank`, outermost axis first. */
const int64_t *ravel_array_shape(const ravel_array *array);

int32_t ravel_array_rank(const ravel_array *array);
ravel_type ravel_array_type(const ravel_array *array);

/* Number of elements. */
int64_t ravel_array_size(const ravel_array *array);

/* 1 if there are references besides one. */
int32_t ravel_array_shared(const ravel_array *array);

/* One reference more, or less. NULL is allowed. */
void ravel_array_retain(ravel_array *array);
void ravel_array_release(ravel_array *array);

/* Calls `release` for borrowed elements that SaC code gave up last; `ravel_array_borrow` does so now and then. The number of
 * borrowed arrays that are still in use. */
int64_t ravel_array_collect(void);

/* What the last failed call of this thread has to say; NULL if none failed. Good until the next failed call of this thread. */
const char *ravel_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
