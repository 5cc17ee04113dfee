/* name_table.h: the names of a header's entries, found by name and checked for repeats. Private to the importers.
 * Time: n on average, n log n for names chosen to meet. Finding one: log n at most. */
#ifndef GP_NAME_TABLE_H
#define GP_NAME_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define GP_NAME_NONE UINT32_MAX

typedef struct {
    const char *name; /* the caller's, not ended by a zero */
    uint32_t length, index;
    uint64_t hash;
} gp_name;

typedef struct {
    uint32_t count, bucket_count; /* a power of two */
    gp_name *names;               /* owned, by bucket */
    uint32_t *starts;             /* owned: first name of each bucket, and the end */
} gp_name_table;

/* Row `index` of a table that is being filled. */
gp_name gp_name_of(const char *name, uint32_t length, uint32_t index);

/* Names that come one after the other, each with its place in the list as index. */
typedef struct {
    uint32_t count, room;
    gp_name *names; /* owned */
} gp_name_list;

/* False when memory ran out. */
bool gp_name_list_add(gp_name_list *list, const char *name, uint32_t length);
void gp_name_list_release(gp_name_list *list);

/* A table of `names`, which stay the caller's. False when memory ran out. To be released either way. */
bool gp_name_table_make(gp_name_table *table, const gp_name *names, uint32_t count);
void gp_name_table_release(gp_name_table *table);

/* Index of a name, GP_NAME_NONE when there is none. */
uint32_t gp_name_table_find(const gp_name_table *table, const char *name);
/* The least index whose name an entry of a lesser index has, GP_NAME_NONE when all differ. */
uint32_t gp_name_table_repeat(const gp_name_table *table);

#endif
