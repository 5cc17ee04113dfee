#include "name_index.h"

#include <string.h>

#include "text.h"

int gp_name_find(gp_name_index index, const char *key) {
    int low = 0, high = index.count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(index.keys[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < index.count && strcmp(index.keys[low].key, key) == 0 ? index.keys[low].row : -1;
}

int gp_name_nearest(gp_name_index index, const char *key) {
    gp_nearest search;
    int row = -1;
    gp_nearest_start(&search, key, strlen(key));
    for (int i = 0; i < index.count; i++) {
        const char *before = search.best;
        gp_nearest_offer(&search, index.keys[i].key, strlen(index.keys[i].key));
        if (search.best != before) row = index.keys[i].row;
    }
    return row;
}
