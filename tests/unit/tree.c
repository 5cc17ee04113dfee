#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cJSON.h>
#include <cmocka.h>

const cJSON *tree_get(const cJSON *tree, const char *key) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(tree, key);
    if (value == NULL) fail_msg("no %s", key);
    return value;
}

void tree_put(cJSON *tree, const char *path, cJSON *value) {
    assert_non_null(value);
    for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(path, '.')) {
        char part[64];
        snprintf(part, sizeof part, "%.*s", (int)(dot - path), path);
        cJSON *inner = cJSON_GetObjectItemCaseSensitive(tree, part);
        tree = inner != NULL ? inner : cJSON_AddObjectToObject(tree, part);
        path = dot + 1;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(tree, path);
    cJSON_AddItemToObject(tree, path, value);
}
