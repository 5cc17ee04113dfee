/* Reading a plan link. Links come from outside: cut by a mail program, typed by hand, made by a newer version. Each
 * pair stands alone, so what can be read is kept. */
#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "request/job_parts.h"
#include "request/link.h"
#include "request/link_codec.h"
#include "base/text.h"

enum { PARTS_MAX = 64 };

typedef struct {
    cJSON *job;
    gp_diagnostics *list;
    const char *start;       /* of the link as given: faults tell their position in it */
    char *key, *value;       /* of the pair at hand, unescaped */
    int task_bit;
    bool newer;              /* made by a version after this one */
    bool version_given;
    bool field_given[GP_FIELD_TOTAL], part_given[PARTS_MAX];
    bool out_of_memory;
} link_reader;

/* ---- Pairs ------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    size_t length;
} pair;

/* The next pair that is not empty; false at the end. */
static bool next_pair(const char **at, const char *end, pair *next) {
    while (*at < end) {
        next->text = *at;
        const char *mark = memchr(*at, '&', (size_t)(end - *at));
        next->length = (size_t)((mark == NULL ? end : mark) - *at);
        *at = mark == NULL ? end : mark + 1;
        if (next->length > 0) return true;
    }
    return false;
}

/* Splits and unescapes a pair; false when it was cut or is no text. `fault` receives the code then. */
static bool read_pair(link_reader *to, const pair *from, gp_code *fault) {
    const char *equals = memchr(from->text, '=', from->length);
    size_t key_length = equals == NULL ? from->length : (size_t)(equals - from->text);
    size_t value_length = equals == NULL ? 0 : from->length - key_length - 1;
    to->value[0] = '\0';
    *fault = GP_CODE_LINK_INCOMPLETE;
    if (!gp_link_unescape(from->text, key_length, to->key)) {
        to->key[0] = '\0';
        return false;
    }
    if (value_length == 0 || !gp_link_unescape(equals + 1, value_length, to->value)) return false;
    *fault = GP_CODE_INVALID_UTF8;
    size_t length = strlen(to->value);
    return gp_utf8_prefix(to->key, strlen(to->key)) == strlen(to->key) &&
           gp_utf8_prefix(to->value, length) == length;
}

static void report_pair(link_reader *to, const pair *from, gp_code fault) {
    const char *path = gp_link_path(to->key, to->task_bit);
    gp_diagnostic *row = gp_diagnose(to->list, fault, path == NULL ? to->key : path);
    const char *argument = fault == GP_CODE_INVALID_UTF8 ? "offset" : "position";
    gp_argue_number(row, argument, (double)(from->text - to->start));
}

/* ---- Version and task: needed to understand the rest ------------------------------------------------------------- */

static void read_version(link_reader *to) {
    if (to->version_given) {
        gp_diagnose(to->list, GP_CODE_DUPLICATE_KEY, "v");
        return;
    }
    to->version_given = true;
    size_t digits = strspn(to->value, "0123456789");
    bool whole = digits > 0 && to->value[0] != '0' && to->value[digits] == '\0';
    int version = 0;
    for (size_t i = 0; whole && i < digits && i < 8; i++) version = version * 10 + (to->value[i] - '0');
    if (version == GP_LINK_VERSION) return;
    to->newer = version > GP_LINK_VERSION;
    gp_diagnostic *row = gp_diagnose(to->list, to->newer ? GP_CODE_LINK_NEWER : GP_CODE_NOT_A_VERSION, "v");
    gp_argue_text(row, "value", to->value);
    gp_argue_number(row, to->newer ? "known" : "newest", GP_LINK_VERSION);
}

static void read_head(link_reader *to, const char *at, const char *end) {
    pair from;
    gp_code fault;
    while (next_pair(&at, end, &from)) {
        if (!read_pair(to, &from, &fault)) continue;
        if (strcmp(to->key, "v") == 0) read_version(to);
        if (strcmp(to->key, "task") != 0 || to->task_bit != 0) continue;
        int task = gp_choice_find(GP_FIELD_TASK, to->value, strlen(to->value));
        if (task >= 0) to->task_bit = gp_task_bit((gp_task)task);
    }
    if (!to->version_given) gp_diagnose(to->list, GP_CODE_MISSING, "v");
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

/* Pairs of a newer link that this version does not know stay in the job as `kept`, and are written into its links. */
static void keep_pair(link_reader *to) {
    cJSON *kept = cJSON_GetObjectItemCaseSensitive(to->job, "kept");
    if (kept == NULL) kept = cJSON_AddObjectToObject(to->job, "kept");
    if (cJSON_GetObjectItemCaseSensitive(kept, to->key) != NULL) {
        gp_diagnose(to->list, GP_CODE_DUPLICATE_KEY, to->key);
        return;
    }
    if (cJSON_AddStringToObject(kept, to->key, to->value) == NULL) to->out_of_memory = true;
    if (strcmp(to->key, "v") != 0)
        gp_argue_text(gp_diagnose(to->list, GP_CODE_LINK_KEY_KEPT, ""), "key", to->key);
}

static void report_unknown(link_reader *to) {
    gp_diagnostic *row = gp_diagnose(to->list, GP_CODE_UNKNOWN_KEY, to->key);
    gp_nearest search;
    gp_nearest_start(&search, to->key, strlen(to->key));
    if (to->list->dropped > 0) return;
    for (int i = 0; i < GP_FIELD_TOTAL + gp_part_count(); i++) {
        bool is_field = i < GP_FIELD_TOTAL;
        const char *link = is_field ? gp_field_info((gp_field)i)->link : gp_part_at(i - GP_FIELD_TOTAL)->link;
        if (link[0] != '\0') gp_nearest_offer(&search, link, strlen(link));
    }
    if (search.best != NULL) gp_argue_text(row, "nearest", search.best);
}

/* True the first time a path is seen. */
static bool is_first(link_reader *to, const char *path, const gp_part *part) {
    gp_field field = part == NULL ? gp_field_of_path(path) : GP_FIELD_TOTAL;
    bool *given = field != GP_FIELD_TOTAL ? &to->field_given[field] : &to->part_given[part - gp_part_at(0)];
    if (*given) gp_diagnose(to->list, GP_CODE_DUPLICATE_KEY, path);
    bool first = !*given;
    *given = true;
    return first;
}

/* A model is either a name or shapes; the first pair decides. (A GPU's name and figures go together.) */
static bool is_second_model(const link_reader *to, const char *path) {
    const cJSON *model = gp_job_item(to->job, "model");
    bool names = strcmp(path, "model") == 0;
    bool shapes = strncmp(path, "model.", 6) == 0;
    return model != NULL && (names || (shapes && cJSON_IsString(model)));
}

static void read_opaque(link_reader *to, const char *path, const gp_part *part) {
    size_t codec_length = 0;
    cJSON *item = gp_link_read_json(to->value, &codec_length);
    if (item == NULL || (part->kind != GP_PART_NOTED && !cJSON_IsObject(item))) {
        cJSON_Delete(item);
        gp_diagnostic *row = gp_diagnose(to->list, GP_CODE_LINK_CUSTOM_UNREADABLE, path);
        gp_argue_text(row, "key", to->key);
        gp_argue_piece(row, "codec", to->value, codec_length);
        return;
    }
    gp_job_put_item(to->job, path, item, to->list);
}

static void read_setting(link_reader *to) {
    if (strcmp(to->key, "v") == 0) {
        if (to->newer) keep_pair(to);
        return;
    }
    const char *path = gp_link_path(to->key, to->task_bit);
    if (path == NULL) {
        if (to->newer) {
            keep_pair(to);
        } else {
            report_unknown(to);
        }
        return;
    }
    const gp_part *part = gp_part_find(path, strlen(path));
    if (!is_first(to, path, part)) return;
    if (is_second_model(to, path)) {
        gp_diagnose_once(to->list, GP_CODE_DUPLICATE_KEY, "model");
        return;
    }
    bool opaque = part != NULL && (part->kind == GP_PART_CONFIG || part->kind == GP_PART_NOTED ||
                                   part->kind == GP_PART_NOTED_OBJECT);
    if (opaque) {
        read_opaque(to, path, part);
    } else {
        gp_job_put_text(to->job, path, to->value, false, to->list);
    }
}

/* ---- The link ---------------------------------------------------------------------------------------------------- */

static bool is_blank(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

/* The fragment of a URL, or the whole text when there is none; blanks around it come from copying. */
static const char *find_fragment(const char *link, const char **end) {
    const char *mark = strchr(link, '#');
    const char *start = mark == NULL ? link : mark + 1;
    *end = link + strlen(link);
    while (start < *end && is_blank(*start)) start++;
    while (*end > start && is_blank((*end)[-1])) (*end)--;
    return start;
}

static void read_link(link_reader *to, const char *start, const char *end) {
    read_head(to, start, end);
    pair from;
    gp_code fault;
    while (next_pair(&start, end, &from) && !to->out_of_memory) {
        if (read_pair(to, &from, &fault)) {
            read_setting(to);
        } else {
            report_pair(to, &from, fault);
        }
    }
}

cJSON *gp_link_decode(const char *link, gp_diagnostics *diagnostics) {
    size_t length = strlen(link);
    cJSON *job = cJSON_CreateObject();
    if (job == NULL) return NULL;
    if (length > GP_LINK_BYTES_MAX) {
        gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_REQUEST_TOO_LONG, "");
        gp_argue_number(row, "max_bytes", GP_LINK_BYTES_MAX);
        return job;
    }
    link_reader to = {.job = job, .list = diagnostics, .start = link};
    to.key = malloc(2 * (length + 1));
    if (to.key == NULL) {
        cJSON_Delete(job);
        return NULL;
    }
    to.value = to.key + length + 1;
    const char *end = NULL;
    const char *start = find_fragment(link, &end);
    read_link(&to, start, end);
    free(to.key);
    if (!to.out_of_memory) return job;
    cJSON_Delete(job);
    return NULL;
}
