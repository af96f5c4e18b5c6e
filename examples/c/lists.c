#include <stdlib.h>
#include "ravel.h"

/* Lists share their tails, so each cell counts who has it. */
typedef struct list {
    int head, users;
    struct list *tail;
} list;

list *list_cons(int head, list *tail)
{
    list *l = malloc(sizeof *l);
    *l = (list){head, 1, tail};
    if (tail) tail->users++;
    return l;
}

/* The end of a list is a cell of its own: NULL would be no value. */
list *list_empty(void)
{
    return list_cons(0, NULL);
}

void list_free(list *l)
{
    while (l && --l->users == 0) {
        list *tail = l->tail;
        free(l);
        l = tail;
    }
}

int list_length(list *l)
{
    int n = 0;
    for (; l->tail; l = l->tail) n++;
    return n;
}

ravel_array *list_elements(list *l)
{
    int64_t shape[] = {list_length(l)};
    ravel_array *made = ravel_array_new(RAVEL_INT, 1, shape);
    int32_t *to = made ? ravel_array_data(made) : NULL;
    for (int n = 0; made && l->tail; l = l->tail) to[n++] = l->head;
    return made;
}

list *list_from(ravel_array *a)
{
    const int32_t *data = ravel_array_data(a);
    list *l = list_empty();
    for (int64_t n = ravel_array_size(a); n-- > 0;) {
        list *longer = list_cons(data[n], l);
        list_free(l);
        l = longer;
    }
    return l;
}
