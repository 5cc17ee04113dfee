/* Reading a job: one walk over the tree, in which each member is a field of fields.def or a part of job_parts.c. */
#include <cJSON.h>
#include <math.h>
#include <string.h>

#include "request/job.h"
#include "request/job_parts.h"
#include "base/text.h"

typedef struct {
    gp_job *job;
    gp_diagnostics *list;
    bool given[GP_FIELD_TOTAL]; /* by the request, in whatever state */
    bool targets_given, model_faulty;
} reader;

static void read_members(reader *to, const cJSON *object, const char *owner);

static void wrong_type(reader *to, const char *path, const char *expected) {
    gp_argue_text(gp_diagnose(to->list, GP_CODE_WRONG_TYPE, path), "expected", expected);
}

/* The number of a member, or false after an error row. */
static bool read_number(reader *to, const cJSON *item, const char *path, bool whole, double min, double max,
                        double *number) {
    if (!cJSON_IsNumber(item)) {
        wrong_type(to, path, whole ? "integer" : "number");
        return false;
    }
    double value = item->valuedouble;
    if (!isfinite(value)) {
        gp_diagnose_once(to->list, GP_CODE_NOT_FINITE, path);
        return false;
    }
    if (value < min || value > max) {
        gp_diagnostic *row = gp_diagnose(to->list, GP_CODE_OUT_OF_RANGE, path);
        gp_argue_number(row, "value", value);
        gp_argue_number(row, "min", min);
        gp_argue_number(row, "max", max);
        return false;
    }
    if (whole && floor(value) < value) {
        gp_argue_number(gp_diagnose(to->list, GP_CODE_NOT_A_WHOLE_NUMBER, path), "value", value);
        return false;
    }
    *number = value;
    return true;
}

/* The text of a member that fits a report's argument, or NULL after an error row. */
static const char *read_text(reader *to, const cJSON *item, const char *path, size_t size, const char *expected) {
    if (!cJSON_IsString(item)) {
        wrong_type(to, path, expected);
        return NULL;
    }
    if (strlen(item->valuestring) >= size) {
        gp_argue_number(gp_diagnose(to->list, GP_CODE_TEXT_TOO_LONG, path), "max_bytes", (double)(size - 1));
        return NULL;
    }
    return item->valuestring;
}

static void note_text(reader *to, const char *path, const char *value) {
    gp_argue_text(gp_diagnose(to->list, GP_CODE_NOT_MODELLED, path), "value", value);
}

static void note_item(reader *to, const cJSON *item, const char *path) {
    gp_diagnostic *row = gp_diagnose(to->list, GP_CODE_NOT_MODELLED, path);
    if (cJSON_IsNumber(item)) {
        gp_argue_number(row, "value", item->valuedouble);
    } else if (cJSON_IsString(item)) {
        gp_argue_text(row, "value", item->valuestring);
    } else {
        bool scalar = cJSON_IsBool(item);
        gp_argue_text(row, "value", !scalar ? "\xe2\x80\xa6" : cJSON_IsTrue(item) ? "true" : "false");
    }
}

/* ---- Fields -------------------------------------------------------------------------------------------------- */

static void read_choice(reader *to, const cJSON *item, const gp_field_row *row) {
    gp_setting *setting = &to->job->settings[row->field];
    const char *text = read_text(to, item, row->path, GP_TEXT_BYTES, "choice");
    if (text == NULL) return;
    int index = gp_choice_find(row->field, text, strlen(text));
    if (index >= 0) {
        *setting = (gp_setting){.origin = GP_GIVEN, .whole = index, .text = text};
        return;
    }
    gp_nearest search;
    gp_nearest_start(&search, text, strlen(text));
    for (int i = 0; i < gp_choice_count(row->field); i++) {
        int length = 0;
        const char *choice = gp_choice_text(row->field, i, &length);
        gp_nearest_offer(&search, choice, (size_t)length);
    }
    gp_diagnostic *fault = gp_diagnose(to->list, GP_CODE_UNKNOWN_CHOICE, row->path);
    gp_argue_text(fault, "value", text);
    if (search.best != NULL) gp_argue_piece(fault, "nearest", search.best, search.best_length);
    gp_argue_text(fault, "choices", row->choices);
}

static void read_open(reader *to, const cJSON *item, const gp_field_row *row) {
    const char *text = read_text(to, item, row->path, GP_TEXT_BYTES, "text");
    if (text == NULL || text[0] == '\0') return;
    int index = row->kind == GP_KIND_OPEN ? gp_choice_find(row->field, text, strlen(text)) : 0;
    to->job->settings[row->field] = (gp_setting){.origin = GP_GIVEN, .whole = index, .text = text};
}

static void read_switch(reader *to, const cJSON *item, const gp_field_row *row) {
    if (!cJSON_IsBool(item)) {
        wrong_type(to, row->path, "boolean");
        return;
    }
    gp_set_whole(to->job, row->field, cJSON_IsTrue(item), GP_GIVEN);
}

/* Whole numbers written as text, as some engines' logs have their expert-parallel degree. */
static bool is_digits(const cJSON *item, gp_field field) {
    if (field != GP_FIELD_INFER_EP || !cJSON_IsString(item)) return false;
    size_t length = strlen(item->valuestring);
    return length > 0 && length < 8 && strspn(item->valuestring, "0123456789") == length;
}

static void read_numeric(reader *to, const cJSON *item, const gp_field_row *row) {
    bool whole = row->kind == GP_KIND_WHOLE;
    cJSON digits = {.type = cJSON_Number};
    if (is_digits(item, row->field)) {
        for (const char *at = item->valuestring; *at != '\0'; at++) {
            digits.valuedouble = digits.valuedouble * 10 + (*at - '0');
        }
        item = &digits;
    }
    double value = 0;
    if (!read_number(to, item, row->path, whole, row->min, row->max, &value)) return;
    if (whole) {
        gp_set_whole(to->job, row->field, (int64_t)value, GP_GIVEN);
    } else {
        gp_set_real(to->job, row->field, value, GP_GIVEN);
    }
}

/* True when the member was "auto" or "max": taken where the field can be solved for, else an error, unless it is a
 * text like any other. */
static bool read_open_end(reader *to, const cJSON *item, const gp_field_row *row) {
    if (!cJSON_IsString(item)) return false;
    bool is_auto = strcmp(item->valuestring, "auto") == 0;
    if (!is_auto && strcmp(item->valuestring, "max") != 0) return false;
    if ((row->solve & (is_auto ? GP_SOLVE_AUTO : GP_SOLVE_MAX)) != 0) {
        to->job->settings[row->field] = (gp_setting){.origin = is_auto ? GP_AUTO : GP_MAX};
        return true;
    }
    if (row->kind == GP_KIND_OPEN || row->kind == GP_KIND_TEXT) return false;
    gp_diagnostic *fault = gp_diagnose(to->list, GP_CODE_NOT_SOLVABLE, row->path);
    gp_argue_text(fault, "value", item->valuestring);
    if (row->solve != 0) gp_argue_text(fault, "nearest", is_auto ? "max" : "auto");
    return true;
}

/* {"gguf":"IQ3_K","bits":3.43}: a mix whose size is stated beside its name. */
static void read_weights_object(reader *to, const cJSON *object) {
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, object) {
        if (cJSON_IsNull(member)) continue;
        if (strcmp(member->string, "gguf") == 0) {
            const char *mix = read_text(to, member, "infer.weights.gguf", GP_TEXT_BYTES - sizeof "gguf:", "text");
            if (mix == NULL) continue;
            char *text = to->job->weights_text;
            gp_text_join(text, sizeof to->job->weights_text, "gguf:", mix);
            to->job->settings[GP_FIELD_WEIGHTS] = (gp_setting){.origin = GP_GIVEN, .text = text};
        } else if (strcmp(member->string, "bits") == 0) {
            const gp_field_row *bits = gp_field_info(GP_FIELD_WEIGHT_BITS);
            double value = 0;
            if (to->given[GP_FIELD_WEIGHT_BITS]) gp_diagnose(to->list, GP_CODE_DUPLICATE_KEY, bits->path);
            if (!read_number(to, member, "infer.weights.bits", false, bits->min, bits->max, &value)) continue;
            gp_set_real(to->job, GP_FIELD_WEIGHT_BITS, value, GP_GIVEN);
            to->given[GP_FIELD_WEIGHT_BITS] = true;
        } else {
            char path[GP_PATH_BYTES];
            gp_text_join(path, sizeof path, "infer.weights.", member->string);
            gp_diagnose(to->list, GP_CODE_UNKNOWN_KEY, path);
        }
    }
}

static void read_field(reader *to, const cJSON *item, gp_field field) {
    const gp_field_row *row = gp_field_info(field);
    if (to->given[field]) gp_diagnose_once(to->list, GP_CODE_DUPLICATE_KEY, row->path);
    to->given[field] = true;
    if (field == GP_FIELD_WEIGHTS && cJSON_IsObject(item)) {
        read_weights_object(to, item);
        return;
    }
    if (field == GP_FIELD_COMPILE && cJSON_IsBool(item)) {
        const char *text = cJSON_IsTrue(item) ? "true" : "false";
        to->job->settings[field] = (gp_setting){.origin = GP_GIVEN, .text = text};
        return;
    }
    if (read_open_end(to, item, row)) return;
    switch (row->kind) {
    case GP_KIND_WHOLE:
    case GP_KIND_REAL: read_numeric(to, item, row); break;
    case GP_KIND_SWITCH: read_switch(to, item, row); break;
    case GP_KIND_CHOICE: read_choice(to, item, row); break;
    case GP_KIND_OPEN:
    case GP_KIND_TEXT: read_open(to, item, row); break;
    }
}

/* ---- Parts --------------------------------------------------------------------------------------------------- */

/* Stores one value of the model or the GPU at its place in the job. */
static void read_stored(reader *to, const cJSON *item, const gp_part *part) {
    bool stored = part->size > 0;
    char *place = (char *)to->job + part->offset;
    double value = 0;
    if (part->kind == GP_PART_SWITCH) {
        if (!cJSON_IsBool(item)) {
            wrong_type(to, part->path, "boolean");
        } else if (stored) {
            *(int *)(void *)place = cJSON_IsTrue(item) ? 1 : 0;
        }
    } else if (part->kind == GP_PART_TEXT) {
        const char *text = read_text(to, item, part->path, part->size, "text");
        if (text != NULL && stored) gp_text_copy(place, part->size, text, strlen(text));
    } else if (read_number(to, item, part->path, part->kind == GP_PART_WHOLE, part->min, part->max, &value) &&
               stored) {
        if (part->kind == GP_PART_WHOLE) {
            *(int64_t *)(void *)place = (int64_t)value;
        } else {
            *(double *)(void *)place = value;
        }
    }
}

static bool has_values(const cJSON *object) {
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, object) {
        if (!cJSON_IsNull(member)) return true;
    }
    return false;
}

static void read_params(reader *to, const cJSON *item, const gp_part *part) {
    if (!cJSON_IsString(item)) {
        read_stored(to, item, part);
    } else if (strcmp(item->valuestring, "max") == 0) {
        to->job->model.params_max = true;
    } else if (strcmp(item->valuestring, "auto") == 0) {
        gp_argue_text(gp_diagnose(to->list, GP_CODE_NOT_SOLVABLE, part->path), "value", "auto");
    } else {
        wrong_type(to, part->path, "number");
    }
}

/* Shapes beside a config.json say nothing: the config is the whole model. */
static void note_shapes_beside_config(reader *to, const cJSON *object) {
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, object) {
        bool used = strcmp(member->string, "config") == 0 || strcmp(member->string, "name") == 0 ||
                    strcmp(member->string, "params") == 0 || strncmp(member->string, "file_", 5) == 0;
        char path[GP_PATH_BYTES];
        gp_text_join(path, sizeof path, "model.", member->string);
        if (!used && !cJSON_IsNull(member) && gp_part_find(path, strlen(path)) != NULL) note_item(to, member, path);
    }
}

static void read_model_object(reader *to, const cJSON *object) {
    gp_model_request *model = &to->job->model;
    int faults = to->list->count + to->list->dropped;
    read_members(to, object, "model");
    to->model_faulty = to->list->count + to->list->dropped > faults;
    if (model->config != NULL) {
        model->source = GP_MODEL_CONFIG;
        note_shapes_beside_config(to, object);
    } else if (has_values(object)) {
        model->source = GP_MODEL_SHAPES;
    }
}

static void read_model(reader *to, const cJSON *item) {
    if (cJSON_IsObject(item)) {
        read_model_object(to, item);
        return;
    }
    gp_model_request *model = &to->job->model;
    const char *text = read_text(to, item, "model", GP_TEXT_BYTES, "text");
    to->model_faulty = text == NULL;
    if (text == NULL || text[0] == '\0') return;
    model->source = GP_MODEL_NAMED;
    gp_text_copy(model->name, sizeof model->name, text, strlen(text));
}

static void read_gpu(reader *to, const cJSON *item) {
    gp_gpu_request *gpu = &to->job->gpu;
    if (cJSON_IsObject(item)) {
        gpu->custom = has_values(item);
        read_members(to, item, "hardware.gpu");
        return;
    }
    const char *text = read_text(to, item, "hardware.gpu", GP_TEXT_BYTES, "text");
    if (text != NULL) gp_text_copy(gpu->name, sizeof gpu->name, text, strlen(text));
}

static void read_targets(reader *to, const cJSON *item, const char *path) {
    to->targets_given = true;
    to->job->lora_targets = gp_targets_read(item, path, to->list);
}

/* The members of an object that is there only to group them. */
static void read_section(reader *to, const cJSON *item, const gp_part *part) {
    if (!cJSON_IsObject(item)) {
        wrong_type(to, part->path, "object");
        return;
    }
    if (strcmp(part->path, "model.moe") == 0) to->job->model.has_moe = has_values(item);
    read_members(to, item, part->path);
}

static void read_noted(reader *to, const cJSON *item, const gp_part *part) {
    if (part->kind == GP_PART_NOTED_OBJECT && !cJSON_IsObject(item)) {
        wrong_type(to, part->path, "object");
        return;
    }
    if (strcmp(part->path, "infer.tensor_types") == 0) {
        to->job->tensor_types_given = true;
    } else if (strcmp(part->path, "model.moe.layer_freq") == 0) {
        to->job->model.moe.layer_freq = item;
    } else {
        note_item(to, item, part->path);
    }
}

static void read_part(reader *to, const cJSON *item, const gp_part *part) {
    switch (part->kind) {
    case GP_PART_WHOLE:
    case GP_PART_REAL:
    case GP_PART_SWITCH:
    case GP_PART_TEXT: read_stored(to, item, part); break;
    case GP_PART_PARAMS: read_params(to, item, part); break;
    case GP_PART_SECTION: read_section(to, item, part); break;
    case GP_PART_MODEL: read_model(to, item); break;
    case GP_PART_GPU: read_gpu(to, item); break;
    case GP_PART_TARGETS: read_targets(to, item, part->path); break;
    case GP_PART_CONFIG:
        if (cJSON_IsObject(item)) {
            to->job->model.config = item;
        } else {
            wrong_type(to, part->path, "object");
        }
        break;
    case GP_PART_NOTED:
    case GP_PART_NOTED_OBJECT: read_noted(to, item, part); break;
    }
}

/* ---- The walk ------------------------------------------------------------------------------------------------ */

static void unknown_key(reader *to, const char *owner, const char *key) {
    char path[GP_PATH_BYTES];
    size_t length = gp_text_copy(path, sizeof path, owner, strlen(owner));
    if (length > 0) path[length++] = '.';
    gp_text_copy(path + length, sizeof path - length, key, strlen(key));
    gp_diagnostic *row = gp_diagnose(to->list, GP_CODE_UNKNOWN_KEY, path);
    /* The search costs a walk over all keys: not for the faults that are only counted. */
    if (to->list->dropped == 0) gp_argue_nearest_key(row, owner, key);
}

static void read_members(reader *to, const cJSON *object, const char *owner) {
    char path[GP_PATH_BYTES];
    size_t start = strlen(owner);
    gp_text_copy(path, sizeof path, owner, start);
    if (start > 0) path[start++] = '.';
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, object) {
        size_t length = strlen(member->string);
        gp_field field = GP_FIELD_TOTAL;
        const gp_part *part = NULL;
        /* A key with a dot is no path. */
        if (start + length < sizeof path && memchr(member->string, '.', length) == NULL) {
            gp_text_copy(path + start, sizeof path - start, member->string, length);
            field = gp_field_find(path, start + length);
            if (field == GP_FIELD_TOTAL) part = gp_part_find(path, start + length);
        }
        if (field == GP_FIELD_TOTAL && part == NULL) {
            unknown_key(to, owner, member->string);
        } else if (cJSON_IsNull(member)) {
            continue;
        } else if (part != NULL) {
            read_part(to, member, part);
        } else {
            read_field(to, member, field);
        }
    }
}

static void set_default(gp_job *job, const gp_field_row *row) {
    gp_setting *setting = &job->settings[row->field];
    *setting = (gp_setting){.origin = GP_DEFAULT};
    if (row->initial[0] == '\0') {
        setting->origin = GP_ABSENT;
    } else if ((row->solve & GP_SOLVE_AUTO) != 0 && strcmp(row->initial, "auto") == 0) {
        setting->origin = GP_AUTO;
    } else if (row->kind == GP_KIND_WHOLE || row->kind == GP_KIND_REAL) {
        /* The table's defaults are short whole numbers. */
        for (const char *at = row->initial; gp_is_digit(*at); at++) setting->whole = setting->whole * 10 + (*at - '0');
        setting->real = (double)setting->whole;
    } else {
        setting->text = row->initial;
        if (row->kind != GP_KIND_TEXT) setting->whole = gp_choice_find(row->field, row->initial, strlen(row->initial));
    }
}

/* What fields of another task leave open is not for the solver. */
static void close_other_tasks(reader *to) {
    int task = gp_task_bit(gp_task_of(to->job));
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const gp_field_row *row = gp_field_info((gp_field)i);
        gp_setting *setting = &to->job->settings[i];
        if ((row->tasks & task) != 0 || setting->origin != GP_MAX) continue;
        note_text(to, row->path, "max");
        *setting = (gp_setting){.origin = GP_ABSENT};
    }
    if (to->targets_given && (task & GP_TASKS_ADAPTER) == 0) note_text(to, "train.lora.targets", "");
}

void gp_job_read(const cJSON *tree, gp_job *job, gp_diagnostics *diagnostics) {
    reader to = {.job = job, .list = diagnostics};
    memset(job, 0, sizeof *job);
    gp_model_request *model = &job->model;
    model->tied_embeddings = model->gated_ffn = model->bias = model->qkv_bias = model->qk_norm = -1;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) set_default(job, gp_field_info((gp_field)i));
    if (!cJSON_IsObject(tree)) {
        gp_diagnose(diagnostics, tree == NULL ? GP_CODE_MISSING : GP_CODE_NOT_AN_OBJECT, "job");
        return;
    }
    read_members(&to, tree, "");
    if (!to.given[GP_FIELD_TASK]) gp_diagnose(diagnostics, GP_CODE_MISSING, "task");
    if (model->source == GP_MODEL_NONE && !to.model_faulty) gp_diagnose(diagnostics, GP_CODE_MISSING, "model");
    if (job->settings[GP_FIELD_TASK].origin == GP_GIVEN) close_other_tasks(&to);
}
