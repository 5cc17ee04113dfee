/* name_index.h: the names of a table's rows, and the row of a name. The tables are generated. Of a key, which is what is
 * compared, only a hash is stored: the key is made anew from the name where the hash says that it may be the one. */
#ifndef GP_NAME_INDEX_H
#define GP_NAME_INDEX_H

#include <stdint.h>

#include "base/name_key.h"

/* Names are numbered: each row's own name first, then the aliases, then, in tables that have stems, each row's own name
 * once more for its stem. Of names with equal keys the first counts. */
typedef struct {
    const char *texts;          /* all texts; one is named by its place */
    const uint16_t *own;        /* places of the rows' own names, each as the distance from the one before, modulo 2^16 */
    const uint16_t *aliases;    /* places of the aliases, each up to NUL or '|' */
    const uint16_t *alias_rows; /* and the row of each */
    const uint8_t *hashes;      /* of the keys, by number */
    int row_count, alias_count, count;
    gp_key_writer *write_key;
} gp_name_index;

/* Row of a key, or -1. */
int gp_name_find(const gp_name_index *index, const char *key);
/* Row of the key nearest to a misspelt one (text.h), or -1. */
int gp_name_nearest(const gp_name_index *index, const char *key);

#endif
