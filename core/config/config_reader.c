#include "config/config_reader.h"

#include <math.h>
#include <string.h>

#include "cJSON.h"

/* Path of `key` inside the reader's object, cut to GP_PATH_BYTES. */
static void path_of(const gp_config_reader *reader, const char *key, char *path) {
    size_t length = strlen(reader->path), room = GP_PATH_BYTES - 1;
    if (length > room) length = room;
    memcpy(path, reader->path, length);
    if (key[0] != '\0' && length < room) {
        if (length > 0) path[length++] = '.';
        size_t rest = strlen(key);
        if (rest > room - length) rest = room - length;
        memcpy(path + length, key, rest);
        length += rest;
    }
    path[length] = '\0';
}

gp_diagnostic *gp_config_note(const gp_config_reader *reader, gp_code code, const char *key) {
    char path[GP_PATH_BYTES];
    path_of(reader, key, path);
    return gp_diagnose(reader->diagnostics, code, path);
}

gp_diagnostic *gp_config_fault(gp_config_reader *reader, gp_code code, const char *key) {
    reader->usable = false;
    return gp_config_note(reader, code, key);
}

gp_diagnostic *gp_config_warn(gp_config_reader *reader, gp_code code, const char *key) {
    char path[GP_PATH_BYTES];
    path_of(reader, key, path);
    return gp_diagnose(reader->diagnostics, code, path);
}

void gp_config_wrong_type(gp_config_reader *reader, const char *key, const char *expected) {
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

void gp_config_out_of_range(gp_config_reader *reader, const char *key, double value, double minimum, double maximum) {
    gp_diagnostic *row = gp_config_fault(reader, GP_CODE_OUT_OF_RANGE, key);
    gp_argue_number(row, "value", value);
    gp_argue_number(row, "min", minimum);
    gp_argue_number(row, "max", maximum);
}

void gp_config_inconsistent(gp_config_reader *reader, const char *key, double value) {
    gp_diagnostic *row = gp_config_fault(reader, GP_CODE_INCONSISTENT_MODEL, key);
    gp_argue_text(row, "what", key);
    gp_argue_number(row, "value", value);
}

int64_t gp_config_whole(gp_config_reader *reader, const char *keys, int64_t minimum, int64_t fallback) {
    return gp_config_within(reader, keys, minimum, GP_DIMENSION_MAX, fallback);
}

/* The value of an item at `key` as a whole number; false after a fault. */
static bool read_whole(gp_config_reader *reader, const char *key, const cJSON *item, double minimum, double maximum,
                       int64_t *whole) {
    double value = item->valuedouble;
    if (!cJSON_IsNumber(item)) {
        gp_config_wrong_type(reader, key, "integer");
    } else if (!isfinite(value)) {
        gp_config_fault(reader, GP_CODE_NOT_FINITE, key);
    } else if (value < minimum || value > maximum) {
        gp_config_out_of_range(reader, key, value, minimum, maximum);
    } else if (floor(value) != value) {
        gp_argue_number(gp_config_fault(reader, GP_CODE_NOT_A_WHOLE_NUMBER, key), "value", value);
    } else {
        *whole = (int64_t)value;
        return true;
    }
    return false;
}

int64_t gp_config_within(gp_config_reader *reader, const char *keys, int64_t minimum, int64_t maximum,
                         int64_t fallback) {
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
    int64_t whole = minimum;
    read_whole(reader, key, item, (double)minimum, (double)maximum, &whole);
    return whole;
}

const cJSON *gp_config_list(gp_config_reader *reader, const char *key) {
    const cJSON *item = gp_config_item(reader, key);
    if (item == NULL || cJSON_IsArray(item)) return item;
    gp_config_wrong_type(reader, key, "list");
    return NULL;
}

bool gp_config_numbers(gp_config_reader *reader, const char *key, int64_t minimum, int64_t maximum, int64_t count,
                       int64_t *values) {
    const cJSON *list = gp_config_list(reader, key), *item = NULL;
    int64_t read = 0, value = 0;
    if (list == NULL) return false;
    cJSON_ArrayForEach(item, list) {
        if (!read_whole(reader, key, item, (double)minimum, (double)maximum, &value)) return false;
        if (read < count) values[read] = value;
        read++;
    }
    if (read == count) return true;
    gp_config_inconsistent(reader, key, (double)read);
    return false;
}

void gp_config_check_object(gp_config_reader *reader, const char *key) {
    const cJSON *item = gp_config_item(reader, key);
    if (item != NULL && !cJSON_IsObject(item)) gp_config_wrong_type(reader, key, "object");
}

double gp_config_number(gp_config_reader *reader, const char *key, double minimum, double maximum, double fallback) {
    const cJSON *item = gp_config_item(reader, key);
    if (item == NULL) return fallback;
    double value = item->valuedouble;
    if (!cJSON_IsNumber(item)) {
        gp_config_wrong_type(reader, key, "number");
    } else if (!isfinite(value)) {
        gp_config_fault(reader, GP_CODE_NOT_FINITE, key);
    } else if (value < minimum || value > maximum) {
        gp_config_out_of_range(reader, key, value, minimum, maximum);
    } else {
        return value;
    }
    return fallback;
}

bool gp_config_switch(gp_config_reader *reader, const char *key, bool fallback) {
    const cJSON *item = gp_config_item(reader, key);
    if (item == NULL) return fallback;
    if (cJSON_IsBool(item)) return cJSON_IsTrue(item);
    gp_config_wrong_type(reader, key, "boolean");
    return fallback;
}

const char *gp_config_text(gp_config_reader *reader, const char *key) {
    const cJSON *item = gp_config_item(reader, key);
    if (item == NULL) return NULL;
    if (cJSON_IsString(item)) return item->valuestring;
    gp_config_wrong_type(reader, key, "text");
    return NULL;
}

gp_config_reader gp_config_inside(gp_config_reader *reader, const char *key, char *path) {
    path_of(reader, key, path);
    const cJSON *item = gp_config_item(reader, key);
    if (item != NULL && !cJSON_IsObject(item)) {
        gp_config_wrong_type(reader, key, "object");
        item = NULL;
    }
    return (gp_config_reader){item, path, reader->diagnostics, true, true};
}

void gp_config_unsupported(gp_config_reader *reader, const char *key, const char *feature) {
    gp_argue_text(gp_config_fault(reader, GP_CODE_UNSUPPORTED_ARCHITECTURE, key), "value", feature);
}
