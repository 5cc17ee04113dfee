#include "name_index.h"

#include <string.h>

#include "text.h"

static int row_of(const gp_name_index *index, int number) {
    int alias = number - index->row_count;
    if (alias < 0) return number;
    return alias < index->alias_count ? index->alias_rows[alias] : alias - index->alias_count;
}

static void key_of(const gp_name_index *index, int number, char *key) {
    char name[GP_KEY_BYTES];
    int alias = number - index->row_count;
    bool is_alias = alias >= 0 && alias < index->alias_count;
    const char *text = index->texts + (is_alias ? index->aliases[alias] : index->own[row_of(index, number)]);
    gp_text_copy(name, sizeof name, text, strcspn(text, "|"));
    index->write_key(name, alias >= index->alias_count ? GP_KEY_STEM : GP_KEY_NAME, key);
}

int gp_name_find(const gp_name_index *index, const char *key) {
    char other[GP_KEY_BYTES];
    int low = 0, high = index->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        key_of(index, index->order[middle], other);
        int side = strcmp(other, key);
        if (side == 0) return row_of(index, index->order[middle]);
        if (side < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return -1;
}

int gp_name_nearest(const gp_name_index *index, const char *key) {
    char other[GP_KEY_BYTES], best[GP_KEY_BYTES];
    gp_nearest search;
    int row = -1;
    gp_nearest_start(&search, key, strlen(key));
    for (int i = 0; i < index->count; i++) {
        key_of(index, index->order[i], other);
        gp_nearest_offer(&search, other, strlen(other));
        if (search.best != other) continue;
        search.best = memcpy(best, other, sizeof best);
        row = row_of(index, index->order[i]);
    }
    return row;
}
