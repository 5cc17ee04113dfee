/* Writing settings into a `job` object, typed by the tables. */
#include <cJSON.h>
#include <math.h>
#include <string.h>

#include "request/job.h"
#include "request/job_parts.h"
#include "base/json_scan.h"
#include "base/text.h"

/* ---- Places in the tree ------------------------------------------------------------------------------------------ */

/* Copies the first part of a path into `key` and returns the rest, NULL at the end. Paths of the tables are short. */
static const char *next_key(const char *path, char *key, size_t size) {
    size_t length = 0;
    for (; path[length] != '\0' && path[length] != '.' && length + 1 < size; length++) key[length] = path[length];
    key[length] = '\0';
    return path[length] == '.' ? path + length + 1 : NULL;
}

const cJSON *gp_job_item(const cJSON *job, const char *path) {
    char key[GP_PATH_BYTES];
    const cJSON *item = job;
    while (path != NULL && cJSON_IsObject(item)) {
        path = next_key(path, key, sizeof key);
        item = cJSON_GetObjectItemCaseSensitive(item, key);
    }
    return path != NULL || cJSON_IsNull(item) ? NULL : item;
}

int gp_job_task_bit(const cJSON *job) {
    const cJSON *task = gp_job_item(job, "task");
    if (!cJSON_IsString(task)) return 0;
    int index = gp_choice_find(GP_FIELD_TASK, task->valuestring, strlen(task->valuestring));
    return index < 0 ? 0 : gp_task_bit((gp_task)index);
}

static bool out_of_memory(const char *path, cJSON *item, gp_diagnostics *list) {
    cJSON_Delete(item);
    gp_diagnose(list, GP_CODE_OUT_OF_MEMORY, path);
    return false;
}

/* Replaces or adds a member; takes `item` over in any case. */
static bool put_member(cJSON *object, const char *key, cJSON *item) {
    if (item == NULL) return false;
    bool there = cJSON_GetObjectItemCaseSensitive(object, key) != NULL;
    bool done = there ? cJSON_ReplaceItemInObjectCaseSensitive(object, key, item)
                      : cJSON_AddItemToObject(object, key, item);
    if (!done && !there) cJSON_Delete(item);
    return done;
}

/* The object under `key`, made when there is none. */
static cJSON *open_object(cJSON *owner, const char *key) {
    cJSON *item = cJSON_GetObjectItemCaseSensitive(owner, key);
    if (cJSON_IsObject(item)) return item;
    cJSON *object = cJSON_CreateObject();
    if (object == NULL) return NULL;
    if (strcmp(key, "gpu") == 0 && cJSON_IsString(item)) {
        bool named = put_member(object, "name", cJSON_CreateString(item->valuestring)) &&
                     put_member(object, "like", cJSON_CreateString(item->valuestring));
        if (!named) {
            cJSON_Delete(object);
            return NULL;
        }
    }
    return put_member(owner, key, object) ? object : NULL;
}

bool gp_job_put_item(cJSON *job, const char *path, cJSON *item, gp_diagnostics *diagnostics) {
    char key[GP_PATH_BYTES];
    cJSON *owner = job;
    const char *rest = next_key(path, key, sizeof key);
    while (rest != NULL && owner != NULL) {
        owner = open_object(owner, key);
        rest = next_key(rest, key, sizeof key);
    }
    if (item == NULL || owner == NULL) return out_of_memory(path, item, diagnostics);
    return put_member(owner, key, item) || out_of_memory(path, NULL, diagnostics);
}

static void take_out(cJSON *job, const char *path) {
    char key[GP_PATH_BYTES];
    cJSON *owner = job;
    const char *rest = next_key(path, key, sizeof key);
    while (rest != NULL && cJSON_IsObject(owner)) {
        owner = cJSON_GetObjectItemCaseSensitive(owner, key);
        rest = next_key(rest, key, sizeof key);
    }
    if (cJSON_IsObject(owner)) cJSON_DeleteItemFromObjectCaseSensitive(owner, key);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

typedef enum { VALUE_NUMBER, VALUE_SWITCH, VALUE_TEXT, VALUE_JSON } value_type;

static value_type type_of(const char *path) {
    gp_field field = gp_field_of_path(path);
    if (field != GP_FIELD_TOTAL) {
        switch (gp_field_info(field)->kind) {
        case GP_KIND_WHOLE:
        case GP_KIND_REAL: return VALUE_NUMBER;
        case GP_KIND_SWITCH: return VALUE_SWITCH;
        case GP_KIND_CHOICE:
        case GP_KIND_OPEN:
        case GP_KIND_TEXT: return field == GP_FIELD_WEIGHTS ? VALUE_JSON : VALUE_TEXT;
        }
    }
    const gp_part *part = gp_part_find(path, strlen(path));
    gp_part_kind kind = part == NULL ? GP_PART_TEXT : part->kind;
    if (kind == GP_PART_WHOLE || kind == GP_PART_REAL || kind == GP_PART_PARAMS) return VALUE_NUMBER;
    if (kind == GP_PART_SWITCH) return VALUE_SWITCH;
    return kind == GP_PART_TEXT ? VALUE_TEXT : VALUE_JSON;
}

/* A JSON number, or NULL for any other text: that stays a text, which gp_job_read judges. */
static cJSON *number_of(const char *text) {
    if (!gp_is_digit(text[0]) && text[0] != '-') return NULL;
    size_t offset = 0;
    cJSON *item = gp_json_scan(text, strlen(text), &offset) == GP_CODE_COUNT ? cJSON_Parse(text) : NULL;
    if (item != NULL && cJSON_IsNumber(item) && isfinite(item->valuedouble)) return item;
    cJSON_Delete(item);
    return NULL;
}

bool gp_job_put_text(cJSON *job, const char *path, const char *text, bool with_json, gp_diagnostics *diagnostics) {
    cJSON *item = NULL;
    value_type type = type_of(path);
    if (type == VALUE_NUMBER) item = number_of(text);
    if (type == VALUE_SWITCH && strcmp(text, "true") == 0) item = cJSON_CreateTrue();
    if (type == VALUE_SWITCH && strcmp(text, "false") == 0) item = cJSON_CreateFalse();
    if (with_json && type == VALUE_JSON && (text[0] == '{' || text[0] == '[')) {
        size_t offset = 0;
        if (gp_json_scan(text, strlen(text), &offset) != GP_CODE_COUNT) {
            gp_argue_number(gp_diagnose(diagnostics, GP_CODE_INVALID_JSON, path), "offset", (double)offset);
            return false;
        }
        item = cJSON_Parse(text);
        if (item == NULL) return out_of_memory(path, NULL, diagnostics);
    }
    return gp_job_put_item(job, path, item == NULL ? cJSON_CreateString(text) : item, diagnostics);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static bool is_linked(const char *link, const char *key) {
    return link[0] != '\0' && strcmp(link, key) == 0;
}

const char *gp_link_path(const char *key, int task_bit) {
    const char *path = NULL;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const gp_field_row *row = gp_field_info((gp_field)i);
        if (!is_linked(row->link, key)) continue;
        if ((row->tasks & task_bit) != 0) return row->path;
        if (path == NULL) path = row->path;
    }
    for (int i = 0; i < gp_part_count() && path == NULL; i++) {
        if (is_linked(gp_part_at(i)->link, key)) path = gp_part_at(i)->path;
    }
    if (path != NULL || strchr(key, '.') == NULL) return path;
    gp_field field = gp_field_of_path(key);
    return field == GP_FIELD_TOTAL ? NULL : gp_field_info(field)->path;
}

/* Prefers fields of the task, then fields, then parts, and of each the least nested. */
static int rank_of(const char *path, int tasks, int task_bit) {
    int depth = 0;
    for (const char *at = path; *at != '\0'; at++) depth += *at == '.';
    return depth + ((tasks & task_bit) != 0 ? 0 : tasks != 0 ? 10 : 20);
}

static bool ends_with_part(const char *path, const char *name) {
    const char *dot = strrchr(path, '.');
    return strcmp(dot == NULL ? path : dot + 1, name) == 0;
}

/* Path whose last part is `name`, or NULL when there is none or no best one. */
static const char *path_of_last_part(const char *name, int task_bit) {
    const char *best = NULL;
    int best_rank = 99;
    bool shared = false;
    for (int i = 0; i < GP_FIELD_TOTAL + gp_part_count(); i++) {
        bool is_field = i < GP_FIELD_TOTAL;
        const gp_field_row *row = is_field ? gp_field_info((gp_field)i) : NULL;
        const char *path = is_field ? row->path : gp_part_at(i - GP_FIELD_TOTAL)->path;
        if (!ends_with_part(path, name)) continue;
        int rank = rank_of(path, is_field ? row->tasks : 0, task_bit);
        if (rank > best_rank) continue;
        shared = rank == best_rank;
        best_rank = rank;
        best = path;
    }
    return shared ? NULL : best;
}

static const char *resolve(const char *name, int task_bit) {
    gp_field field = gp_field_of_path(name);
    if (field != GP_FIELD_TOTAL) return gp_field_info(field)->path;
    const gp_part *part = gp_part_find(name, strlen(name));
    if (part != NULL) return part->path;
    const char *path = gp_link_path(name, task_bit);
    return path != NULL ? path : path_of_last_part(name, task_bit);
}

bool gp_job_set(cJSON *job, const char *path, const char *value_text, gp_diagnostics *diagnostics) {
    const char *full_path = resolve(path, gp_job_task_bit(job));
    if (full_path == NULL) {
        gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_UNKNOWN_KEY, path);
        const char *dot = strrchr(path, '.');
        char owner[GP_PATH_BYTES];
        gp_text_copy(owner, sizeof owner, path, dot == NULL ? 0 : (size_t)(dot - path));
        gp_argue_nearest_key(row, owner, dot == NULL ? path : dot + 1);
        return false;
    }
    if (strcmp(value_text, "null") == 0) {
        take_out(job, full_path);
        return true;
    }
    size_t valid = gp_utf8_prefix(value_text, strlen(value_text));
    if (value_text[valid] != '\0') {
        gp_argue_number(gp_diagnose(diagnostics, GP_CODE_INVALID_UTF8, full_path), "offset", (double)valid);
        return false;
    }
    return gp_job_put_text(job, full_path, value_text, true, diagnostics);
}
