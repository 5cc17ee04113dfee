/* name_index.h: a sorted list of keys, each naming a row of a table. The lists are generated. */
#ifndef GP_NAME_INDEX_H
#define GP_NAME_INDEX_H

typedef struct {
    const char *key;
    int row;
} gp_name_key;

typedef struct {
    const gp_name_key *keys; /* in the order of strcmp */
    int count;
} gp_name_index;

/* Row of a key, or -1. */
int gp_name_find(gp_name_index index, const char *key);
/* Row of the key nearest to a misspelt one (text.h), or -1. */
int gp_name_nearest(gp_name_index index, const char *key);

#endif
