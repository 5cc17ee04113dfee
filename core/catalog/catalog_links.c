#include <string.h>

#include "catalog/catalog.h"
#include "base/name_key.h"

/* The only row that has every word of the name, or NULL. */
static const gp_link_row *only_match(const char *name) {
    const gp_link_row *found = NULL;
    for (int i = 0; i < gp_catalog_link_count(); i++) {
        const gp_link_row *row = gp_catalog_link(i);
        if (!gp_catalog_link_matches(row, name)) continue;
        if (found != NULL) return NULL;
        found = row;
    }
    return found;
}

const gp_link_row *gp_catalog_find_link(const char *name) {
    char wanted[GP_KEY_BYTES], key[GP_KEY_BYTES];
    gp_key_of_gpu(name, GP_KEY_NAME, wanted);
    if (wanted[0] == '\0') return NULL;
    for (int i = 0; i < gp_catalog_link_count(); i++) {
        gp_key_of_gpu(gp_catalog_link(i)->name, GP_KEY_NAME, key);
        if (strcmp(key, wanted) == 0) return gp_catalog_link(i);
    }
    return only_match(name);
}
