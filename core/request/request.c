#include "request/request.h"

#include <cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "gpuplan.h"
#include "base/json_scan.h"
#include "base/text.h"

/* ---- Before parsing: passes over the bytes, so that the parser gets only text that it takes ---------------------- */

static bool refuse(gp_diagnostics *list, gp_code code, const char *argument, double value) {
    gp_argue_number(gp_diagnose(list, code, ""), argument, value);
    return false;
}

static bool is_readable(const char *text, size_t length, gp_diagnostics *list) {
    if (length > GP_REQUEST_BYTES_MAX)
        return refuse(list, GP_CODE_REQUEST_TOO_LONG, "max_bytes", GP_REQUEST_BYTES_MAX);
    size_t valid = gp_utf8_prefix(text, length);
    if (valid < length) return refuse(list, GP_CODE_INVALID_UTF8, "offset", (double)valid);
    size_t offset = 0;
    gp_code fault = gp_json_scan(text, length, &offset);
    if (fault == GP_CODE_COUNT) return true;
    if (fault == GP_CODE_NESTED_TOO_DEEPLY) return refuse(list, fault, "max", GP_JSON_DEPTH_MAX);
    if (fault == GP_CODE_TOO_MANY_VALUES) return refuse(list, fault, "max", GP_JSON_VALUES_MAX);
    return refuse(list, fault, "offset", (double)offset);
}

/* ---- After parsing: what the parser lets pass ------------------------------------------------------------------- */

typedef struct {
    gp_diagnostics *list;
    char path[GP_PATH_BYTES];
} walk;

/* Path of a member below the current one; returns the length to go back to. */
static size_t enter(walk *at, const char *key) {
    size_t length = strlen(at->path);
    size_t end = length;
    if (length > 0 && length + 1 < sizeof at->path - 4) at->path[end++] = '.';
    if (end < sizeof at->path - 4) {
        gp_text_copy(at->path + end, sizeof at->path - end, key, strlen(key));
    } else {
        at->path[end] = '\0';
    }
    return length;
}

static void report(const walk *at, gp_code code) {
    const char *path = strncmp(at->path, "job.", 4) == 0 ? at->path + 4 : at->path;
    gp_diagnose(at->list, code, path);
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void report_repeats(walk *at, const char **keys, int count) {
    for (int i = 1; i < count; i++) {
        bool repeats = strcmp(keys[i], keys[i - 1]) == 0;
        bool told = i > 1 && strcmp(keys[i], keys[i - 2]) == 0;
        if (!repeats || told) continue;
        size_t back = enter(at, keys[i]);
        report(at, GP_CODE_DUPLICATE_KEY);
        at->path[back] = '\0';
    }
}

/* Sorted, so that 60,000 keys cost no more than their sorting. */
static void check_keys(walk *at, const cJSON *object) {
    enum { FEW = 64 };
    const char *few[FEW];
    int count = cJSON_GetArraySize(object);
    const char **keys = count <= FEW ? few : malloc((size_t)count * sizeof *keys);
    if (keys == NULL) {
        gp_diagnose(at->list, GP_CODE_OUT_OF_MEMORY, "");
        return;
    }
    int used = 0;
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, object) keys[used++] = member->string;
    qsort(keys, (size_t)used, sizeof *keys, compare_keys);
    report_repeats(at, keys, used);
    if (keys != few) free(keys);
}

static void check_values(walk *at, const cJSON *container) {
    if (cJSON_IsObject(container)) check_keys(at, container);
    const cJSON *member = NULL;
    int index = 0;
    cJSON_ArrayForEach(member, container) {
        bool nested = cJSON_IsObject(member) || cJSON_IsArray(member);
        bool infinite = cJSON_IsNumber(member) && !isfinite(member->valuedouble);
        if (nested || infinite) {
            char number[GP_DECIMAL_BYTES];
            gp_decimal_write_whole(number, index);
            size_t back = enter(at, member->string == NULL ? number : member->string);
            if (nested) check_values(at, member);
            if (infinite) report(at, GP_CODE_NOT_FINITE);
            at->path[back] = '\0';
        }
        index++;
    }
}

cJSON *gp_request_parse(const char *text, size_t length, gp_diagnostics *diagnostics) {
    if (text == NULL) {
        text = "";
        length = 0;
    }
    if (!is_readable(text, length, diagnostics)) return NULL;
    cJSON *tree = cJSON_ParseWithLength(text, length);
    if (!cJSON_IsObject(tree)) {
        gp_diagnose(diagnostics, tree == NULL ? GP_CODE_OUT_OF_MEMORY : GP_CODE_NOT_AN_OBJECT, "");
        cJSON_Delete(tree);
        return NULL;
    }
    walk at = {.list = diagnostics, .path = ""};
    check_values(&at, tree);
    return tree;
}
