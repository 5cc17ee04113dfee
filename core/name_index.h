/* name_index.h: the names of a table's rows, and the row of a name. The tables are generated. A key, which is what is
 * compared, is not stored: it is made anew from the name each time, which costs less than 0.1 us. */
#ifndef GP_NAME_INDEX_H
#define GP_NAME_INDEX_H

#include <stdint.h>

#include "name_key.h"

/* Names are numbered: each row's own name first, then the aliases, then each row's own name once more, now for its
 * stem. Not every stem is a name: of several equal ones only the first row's is. */
typedef struct {
    const char *texts;          /* all texts; one is named by its place */
    const uint16_t *own;        /* places of the rows' own names */
    const uint16_t *aliases;    /* places of the aliases, each up to NUL or '|' */
    const uint16_t *alias_rows; /* and the row of each */
    const uint16_t *order;      /* the names' numbers in the order (strcmp) of their keys */
    int row_count, alias_count, count;
    gp_key_writer *write_key;
} gp_name_index;

/* Row of a key, or -1. */
int gp_name_find(const gp_name_index *index, const char *key);
/* Row of the key nearest to a misspelt one (text.h), or -1. */
int gp_name_nearest(const gp_name_index *index, const char *key);

#endif
