#include "config_reader.h"

#include <math.h>
#include <string.h>

#include "cJSON.h"

/* Path of `key` inside the reader's object, cut to GP_PATH_BYTES. */
static void path_of(const gp_config_reader *reader, const char *key, char *path) {
    size_t length = strlen(reader->path), room = GP_PATH_BYTES - 1;
    if (length > room) length = room;
    memcpy(path, reader->path, length);
    if (key[0] != '\0' && length < room) {
        path[length++] = '.';
        size_t rest = strlen(key);
        if (rest > room - length) rest = room - length;
        memcpy(path + length, key, rest);
        length += rest;
    }
    path[length] = '\0';
}

gp_diagnostic *gp_config_fault(gp_config_reader *reader, gp_code code, const char *key) {
    char path[GP_PATH_BYTES];
    path_of(reader, key, path);
    reader->usable = false;
    return gp_diagnose(reader->diagnostics, code, path);
}

static void wrong_type(gp_config_reader *reader, const char *key, const char *expected) {
    gp_argue_text(gp_config_fault(reader, GP_CODE_WRONG_TYPE, key), "expected", expected);
}

const cJSON *gp_config_item(const gp_config_reader *reader, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(reader->object, key);
    return cJSON_IsNull(item) ? NULL : item;
}

#define KEY_BYTES 48

/* First key of the list that is present; *keys moves past it. NULL at the end. */
static const cJSON *next_item(const gp_config_reader *reader, const char **keys, char *key) {
    while (**keys != '\0') {
        size_t length = strcspn(*keys, "|");
        size_t kept = length < KEY_BYTES - 1 ? length : KEY_BYTES - 1;
        memcpy(key, *keys, kept);
        key[kept] = '\0';
        *keys += length + ((*keys)[length] == '|');
        const cJSON *item = gp_config_item(reader, key);
        if (item != NULL) return item;
    }
    return NULL;
}

static void out_of_range(gp_config_reader *reader, const char *key, double value, double minimum) {
    gp_diagnostic *row = gp_config_fault(reader, GP_CODE_OUT_OF_RANGE, key);
    gp_argue_number(row, "value", value);
    gp_argue_number(row, "min", minimum);
    gp_argue_number(row, "max", (double)GP_DIMENSION_MAX);
}

int64_t gp_config_whole(gp_config_reader *reader, const char *keys, int64_t minimum, int64_t fallback) {
    char key[KEY_BYTES] = "", first[KEY_BYTES];
    size_t length = strcspn(keys, "|");
    memcpy(first, keys, length < KEY_BYTES ? length : KEY_BYTES - 1);
    first[length < KEY_BYTES ? length : KEY_BYTES - 1] = '\0';
    const cJSON *item = next_item(reader, &keys, key);
    if (item == NULL && fallback != GP_REQUIRED) return fallback;
    if (item == NULL) {
        gp_argue_text(gp_config_fault(reader, GP_CODE_INCOMPLETE_MODEL, first), "what", first);
        return minimum;
    }
    double value = item->valuedouble;
    if (!cJSON_IsNumber(item)) {
        wrong_type(reader, key, "integer");
    } else if (!isfinite(value)) {
        gp_config_fault(reader, GP_CODE_NOT_FINITE, key);
    } else if (value < (double)minimum || value > (double)GP_DIMENSION_MAX) {
        out_of_range(reader, key, value, (double)minimum);
    } else if (floor(value) != value) {
        gp_argue_number(gp_config_fault(reader, GP_CODE_NOT_A_WHOLE_NUMBER, key), "value", value);
    } else {
        return (int64_t)value;
    }
    return minimum;
}

double gp_config_positive(gp_config_reader *reader, const char *key, double fallback) {
    const cJSON *item = gp_config_item(reader, key);
    if (item == NULL) return fallback;
    double value = item->valuedouble;
    if (!cJSON_IsNumber(item)) {
        wrong_type(reader, key, "number");
    } else if (!isfinite(value)) {
        gp_config_fault(reader, GP_CODE_NOT_FINITE, key);
    } else if (value <= 0 || value > (double)GP_DIMENSION_MAX) {
        out_of_range(reader, key, value, 0);
    } else {
        return value;
    }
    return fallback;
}

bool gp_config_switch(gp_config_reader *reader, const char *key, bool fallback) {
    const cJSON *item = gp_config_item(reader, key);
    if (item == NULL) return fallback;
    if (cJSON_IsBool(item)) return cJSON_IsTrue(item);
    wrong_type(reader, key, "boolean");
    return fallback;
}

const char *gp_config_text(gp_config_reader *reader, const char *key) {
    const cJSON *item = gp_config_item(reader, key);
    if (item == NULL) return NULL;
    if (cJSON_IsString(item)) return item->valuestring;
    wrong_type(reader, key, "text");
    return NULL;
}

gp_config_reader gp_config_inside(gp_config_reader *reader, const char *key, char *path) {
    path_of(reader, key, path);
    const cJSON *item = gp_config_item(reader, key);
    if (item != NULL && !cJSON_IsObject(item)) {
        wrong_type(reader, key, "object");
        item = NULL;
    }
    return (gp_config_reader){item, path, reader->diagnostics, true, true};
}

void gp_config_unsupported(gp_config_reader *reader, const char *key, const char *feature) {
    gp_argue_text(gp_config_fault(reader, GP_CODE_UNSUPPORTED_ARCHITECTURE, key), "value", feature);
}
