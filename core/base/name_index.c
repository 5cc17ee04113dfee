#include "base/name_index.h"

#include <string.h>

#include "base/text.h"

static int row_of(const gp_name_index *index, int number) {
    int alias = number - index->row_count;
    if (alias < 0) return number;
    return alias < index->alias_count ? index->alias_rows[alias] : alias - index->alias_count;
}

static const char *text_of(const gp_name_index *index, int number) {
    int alias = number - index->row_count;
    if (alias >= 0 && alias < index->alias_count) return index->texts + index->aliases[alias];
    uint16_t place = 0;
    for (int row = row_of(index, number); row >= 0; row--) place = (uint16_t)(place + index->own[row]);
    return index->texts + place;
}

static void key_of(const gp_name_index *index, int number, char *key) {
    char name[GP_KEY_BYTES];
    const char *text = text_of(index, number);
    size_t length = strcspn(text, "|");
    if (length >= sizeof name) length = sizeof name - 1;
    memcpy(name, text, length);
    name[length] = '\0';
    index->write_key(name, number < index->row_count + index->alias_count ? GP_KEY_NAME : GP_KEY_STEM, key);
}

int gp_name_find(const gp_name_index *index, const char *key) {
    char other[GP_KEY_BYTES];
    uint8_t hash = gp_key_hash(key);
    for (int number = 0; number < index->count; number++) {
        if (index->hashes[number] != hash) continue;
        key_of(index, number, other);
        if (strcmp(other, key) == 0) return row_of(index, number);
    }
    return -1;
}

int gp_name_nearest(const gp_name_index *index, const char *key) {
    char other[GP_KEY_BYTES], best[GP_KEY_BYTES];
    gp_nearest search;
    int row = -1;
    gp_nearest_start(&search, key, strlen(key));
    for (int number = 0; number < index->count; number++) {
        key_of(index, number, other);
        gp_nearest_offer(&search, other, strlen(other));
        if (search.best != other) continue;
        search.best = memcpy(best, other, sizeof best);
        row = row_of(index, number);
    }
    return row;
}
