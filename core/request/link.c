/* Writing a plan link: one pair for each setting of the job that differs from its default. */
#include "request/link.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_compact.h"
#include "base/decimal.h"
#include "request/job_parts.h"
#include "request/link_codec.h"
#include "base/text.h"
#include "base/writer.h"

typedef struct {
    gp_link_text text;
    const cJSON *job;
    int task_bit;
} writer;

static void write_key(writer *to, const char *key) {
    if (to->text.length > 0) gp_link_append(&to->text, "&", 1);
    gp_link_append_escaped(&to->text, key, strlen(key));
    gp_link_append(&to->text, "=", 1);
}

static void write_pair(writer *to, const char *key, const char *value) {
    if (value[0] == '\0') return;
    write_key(to, key);
    gp_link_append_escaped(&to->text, value, strlen(value));
}

/* Text of one value; `buffer` holds numbers, `*owned` receives what the caller must free (JSON of a value that its
 * field does not take: kept, so that the fault is still told where the link is opened). */
static const char *text_of(const cJSON *item, char *buffer, size_t size, char **owned) {
    if (cJSON_IsString(item)) return item->valuestring;
    if (cJSON_IsBool(item)) return cJSON_IsTrue(item) ? "true" : "false";
    if (cJSON_IsNumber(item)) {
        gp_text_number(buffer, size, item->valuedouble);
        return buffer;
    }
    *owned = gp_tree_text(item);
    return *owned == NULL ? "" : *owned;
}

static void write_value(writer *to, const char *key, const cJSON *item) {
    char buffer[32];
    char *owned = NULL;
    write_pair(to, key, text_of(item, buffer, sizeof buffer, &owned));
    free(owned);
}

/* ["q","v"] as "q,v", which means the same. */
static void write_list(writer *to, const char *key, const cJSON *list) {
    const cJSON *element = NULL;
    const char *mark = "";
    if (cJSON_GetArraySize(list) == 0) return;
    write_key(to, key);
    cJSON_ArrayForEach(element, list) {
        char buffer[32];
        char *owned = NULL;
        const char *value = text_of(element, buffer, sizeof buffer, &owned);
        gp_link_append(&to->text, mark, strlen(mark));
        gp_link_append_escaped(&to->text, value, strlen(value));
        free(owned);
        mark = ",";
    }
}

/* Fields that say something by being given, whatever the value: a count that the degrees must multiply to, machines whose
 * network is in the way of a step, a split or a rank that the user chose, a packed base under LoRA, weights that are not as
 * published, a prompt that the context must hold. */
static bool counts_when_given(gp_field field) {
    static const uint8_t fields[] = {GP_FIELD_COUNT,     GP_FIELD_PP,          GP_FIELD_INFER_PP, GP_FIELD_QUANT,
                                     GP_FIELD_LORA_RANK, GP_FIELD_CONCURRENCY, GP_FIELD_WEIGHTS,  GP_FIELD_PROMPT,
                                     GP_FIELD_OUTPUT,    GP_FIELD_PER_NODE};
    return memchr(fields, (int)field, sizeof fields) != NULL;
}

static bool is_default(const gp_field_row *row, const cJSON *item) {
    char buffer[32];
    if (counts_when_given(row->field)) return false;
    if (cJSON_IsString(item)) {
        bool numeric = row->kind == GP_KIND_WHOLE || row->kind == GP_KIND_REAL;
        return strcmp(item->valuestring, row->initial) == 0 && !(numeric && gp_is_digit(row->initial[0]));
    }
    if (!cJSON_IsNumber(item)) return false;
    gp_text_number(buffer, sizeof buffer, item->valuedouble);
    return strcmp(buffer, row->initial) == 0;
}

static void write_field(writer *to, const gp_field_row *row) {
    const cJSON *item = gp_job_item(to->job, row->path);
    if (item == NULL || is_default(row, item)) return;
    const char *owner = gp_link_path(row->link, to->task_bit);
    const char *key = owner != NULL && strcmp(owner, row->path) == 0 ? row->link : row->path;
    const cJSON *mix = cJSON_GetObjectItemCaseSensitive(item, "gguf");
    if (row->field != GP_FIELD_WEIGHTS || !cJSON_IsString(mix)) {
        write_value(to, key, item);
        return;
    }
    /* {"gguf":"IQ3_K","bits":3.43} is short for a name and infer.weight_bits. */
    write_key(to, key);
    gp_link_append(&to->text, "gguf:", 5);
    gp_link_append_escaped(&to->text, mix->valuestring, strlen(mix->valuestring));
    const cJSON *bits = cJSON_GetObjectItemCaseSensitive(item, "bits");
    if (bits != NULL && !cJSON_IsNull(bits)) write_value(to, gp_field_info(GP_FIELD_WEIGHT_BITS)->link, bits);
}

static void write_config(writer *to, const char *key, const cJSON *config) {
    cJSON *copy = cJSON_Duplicate(config, 1);
    gp_config_compact(copy, NULL);
    write_key(to, key);
    gp_link_append_json(&to->text, copy);
    cJSON_Delete(copy);
}

static void write_part(writer *to, const gp_part *part) {
    const cJSON *item = part->link[0] == '\0' ? NULL : gp_job_item(to->job, part->path);
    if (item == NULL) return;
    if (part->kind == GP_PART_CONFIG) {
        write_config(to, part->link, item);
    } else if (part->kind == GP_PART_NOTED || part->kind == GP_PART_NOTED_OBJECT) {
        write_key(to, part->link);
        gp_link_append_json(&to->text, item);
    } else if (part->kind == GP_PART_TARGETS && cJSON_IsArray(item)) {
        write_list(to, part->link, item);
    } else if (!((part->kind == GP_PART_MODEL || part->kind == GP_PART_GPU) && cJSON_IsObject(item))) {
        write_value(to, part->link, item);
    }
}

static void write_parts_of(writer *to, const char *owner) {
    for (int i = 0; i < gp_part_count(); i++) {
        const gp_part *part = gp_part_at(i);
        if (strncmp(part->path, owner, strlen(owner)) == 0) write_part(to, part);
    }
}

/* Pairs of a newer version, as they came. */
static void write_kept(writer *to) {
    const cJSON *pair = NULL;
    cJSON_ArrayForEach(pair, gp_job_item(to->job, "kept")) {
        if (strcmp(pair->string, "v") != 0 && cJSON_IsString(pair)) write_pair(to, pair->string, pair->valuestring);
    }
}

static void write_version(writer *to) {
    char known[GP_DECIMAL_BYTES];
    gp_decimal_write_whole(known, GP_LINK_VERSION);
    const cJSON *newer = gp_job_item(to->job, "kept.v");
    write_pair(to, "v", cJSON_IsString(newer) ? newer->valuestring : known);
}

char *gp_link_encode(const cJSON *job) {
    writer to = {.job = job, .task_bit = gp_job_task_bit(job)};
    write_version(&to);
    write_field(&to, gp_field_info(GP_FIELD_TASK));
    write_parts_of(&to, "model");
    write_parts_of(&to, "hardware");
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        if (i != GP_FIELD_TASK) write_field(&to, gp_field_info((gp_field)i));
    }
    write_parts_of(&to, "train");
    write_parts_of(&to, "infer");
    write_parts_of(&to, "calibration");
    write_kept(&to);
    if (!to.text.failed) return to.text.bytes;
    free(to.text.bytes);
    return NULL;
}
