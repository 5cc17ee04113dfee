#include "request.h"

#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpuplan.h"
#include "text.h"

/* ---- Before parsing: one pass over the bytes -------------------------------------------------------------------- */

static bool refuse(gp_diagnostics *list, gp_code code, const char *argument, double value) {
    gp_argue_number(gp_diagnose(list, code, ""), argument, value);
    return false;
}

/* Bytes of the string that starts at the quote `text[at]`, both quotes included; 0 when it holds what the parser would
 * let pass: a raw control character or an escaped NUL, which would cut the text short. *fault receives the place. */
static size_t string_bytes(const char *text, size_t length, size_t at, size_t *fault) {
    size_t start = at++;
    while (at < length && text[at] != '"') {
        bool escaped_nul = length - at >= 6 && memcmp(text + at, "\\u0000", 6) == 0;
        if (escaped_nul || (unsigned char)text[at] < 0x20) {
            *fault = at;
            return 0;
        }
        at += text[at] == '\\' ? 2 : 1;
    }
    return (at < length ? at + 1 : length) - start;
}

/* Checks depth and number of values, so that neither the parser's stack nor its memory depends on the sender. */
static bool is_bounded(const char *text, size_t length, gp_diagnostics *list) {
    int depth = 0;
    int values = 1;
    for (size_t at = 0; at < length;) {
        char letter = text[at];
        size_t step = 1;
        if (letter == '"') {
            size_t fault = 0;
            step = string_bytes(text, length, at, &fault);
            if (step == 0) return refuse(list, GP_CODE_INVALID_JSON, "offset", (double)fault);
        }
        if (letter == '[' || letter == '{') {
            if (++depth > GP_REQUEST_DEPTH_MAX)
                return refuse(list, GP_CODE_NESTED_TOO_DEEPLY, "max", GP_REQUEST_DEPTH_MAX);
            values++;
        }
        if ((letter == ']' || letter == '}') && depth > 0) depth--;
        if (letter == ',' && ++values > GP_REQUEST_VALUES_MAX)
            return refuse(list, GP_CODE_TOO_MANY_VALUES, "max", GP_REQUEST_VALUES_MAX);
        at += step;
    }
    return true;
}

static bool is_readable(const char *text, size_t length, gp_diagnostics *list) {
    if (length > GP_REQUEST_BYTES_MAX)
        return refuse(list, GP_CODE_REQUEST_TOO_LONG, "max_bytes", GP_REQUEST_BYTES_MAX);
    size_t valid = gp_utf8_prefix(text, length);
    if (valid < length) return refuse(list, GP_CODE_INVALID_UTF8, "offset", (double)valid);
    const char *nul = memchr(text, '\0', length);
    if (nul != NULL) return refuse(list, GP_CODE_INVALID_JSON, "offset", (double)(nul - text));
    return is_bounded(text, length, list);
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
            char number[16];
            snprintf(number, sizeof number, "%d", index);
            size_t back = enter(at, member->string == NULL ? number : member->string);
            if (nested) check_values(at, member);
            if (infinite) report(at, GP_CODE_NOT_FINITE);
            at->path[back] = '\0';
        }
        index++;
    }
}

static size_t skip_space(const char *text, size_t length, size_t at) {
    while (at < length && strchr(" \t\r\n", text[at]) != NULL) at++;
    return at;
}

cJSON *gp_request_parse(const char *text, size_t length, gp_diagnostics *diagnostics) {
    if (text == NULL) length = 0;
    if (length > 0 && !is_readable(text, length, diagnostics)) return NULL;
    const char *end = text;
    cJSON *tree = length == 0 ? NULL : cJSON_ParseWithLengthOpts(text, length, &end, 0);
    size_t offset = end == NULL || text == NULL ? 0 : (size_t)(end - text);
    gp_code fault = GP_CODE_COUNT;
    if (tree == NULL) {
        fault = GP_CODE_INVALID_JSON;
    } else if ((offset = skip_space(text, length, offset)) < length) {
        fault = GP_CODE_TRAILING_TEXT;
    } else if (!cJSON_IsObject(tree)) {
        fault = GP_CODE_NOT_AN_OBJECT;
    }
    if (fault != GP_CODE_COUNT) {
        gp_diagnostic *row = gp_diagnose(diagnostics, fault, "");
        if (fault != GP_CODE_NOT_AN_OBJECT) gp_argue_number(row, "offset", (double)offset);
        cJSON_Delete(tree);
        return NULL;
    }
    walk at = {.list = diagnostics, .path = ""};
    check_values(&at, tree);
    return tree;
}
