/* A JSON file of a model: a config, an index, or something else that is named. */
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "config/config_compact.h"
#include "import/import.h"
#include "base/json_scan.h"
#include "base/quantity.h"
#include "base/text.h"

/* Longest config: with the rest of a job it must fit into a request. */
#define CONFIG_BYTES_MAX ((size_t)1 << 19)
/* An index is an entry for each tensor and little else; a tokenizer, which is named, is longer. */
enum { VALUES_MAX = 24 * GP_IMPORT_ENTRIES_MAX };

/* ---- What kind of JSON ------------------------------------------------------------------------------------------- */

static const struct {
    const char *key, *word; /* word of the group LOOKS, "" for what is read */
} signs[] = {
    {"weight_map", ""},          {"peft_type", "adapter"},       {"lora_alpha", "adapter"},
    {"_class_name", "diffusers"}, {"_diffusers_version", "diffusers"}, {"op", "job"},
    {"gpuplan", "job"},          {"task", "job"},                {"model_type", ""},
    {"architectures", ""},       {"hidden_size", ""},            {"n_embd", ""},
    {"d_model", ""},             {"n_layers", ""},            {"num_hidden_layers", ""},      {"text_config", ""},
    {"quantization", ""},
    {"tokenizer_class", "tokenizer"}, {"added_tokens", "tokenizer"}, {"added_tokens_decoder", "tokenizer"},
    {"eos_token_id", "generation"}, {"do_sample", "generation"},
};
enum { SIGN_COUNT = sizeof signs / sizeof signs[0] };

/* Index of the first sign among the keys seen so far, SIGN_COUNT before any. */
static void note_sign(void *context, const char *key, size_t length) {
    int *found = context;
    for (int i = 0; i < *found; i++) {
        bool may_be = signs[i].key[0] == *key; /* the quote behind it, in a key without letters */
        if (may_be && gp_text_is(signs[i].key, key, length)) *found = i;
    }
}

static void refuse(gp_import_file *file, const char *word) {
    gp_argue_text(gp_file_fault(file, GP_CODE_FILE_UNKNOWN, ""), "looks", word);
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

/* A copy whose NaN and infinities, which Python writes and JSON does not have, are numbers too large to be finite; NULL
 * when memory ran out. */
static char *as_plain_json(const char *text, size_t length, size_t *plain_length) {
    static const char large[] = "1e999";
    /* The shortest such word is NaN. */
    char *plain = malloc(length + (length / 3 + 1) * (sizeof large - 1 - 3) + 1);
    bool inside = false;
    size_t to = 0;
    for (size_t at = 0; plain != NULL && at < length; at++) {
        if (text[at] == '"') inside = !inside;
        size_t word = inside || (text[at] != 'N' && text[at] != 'I') ? 0 : text[at] == 'N' ? 3 : 8;
        if (word > 0) {
            memcpy(plain + to, large, sizeof large - 1);
            to += sizeof large - 1;
            at += word - 1;
            continue;
        }
        plain[to++] = text[at];
        if (inside && text[at] == '\\') plain[to++] = text[++at];
    }
    *plain_length = to;
    return plain;
}

/* False after an error row; else the index of the first sign that is a key of the object, SIGN_COUNT when none is. */
static bool is_json(gp_import_file *file, const char *text, size_t length, int *sign) {
    *sign = SIGN_COUNT;
    size_t offset = gp_utf8_prefix(text, length);
    gp_code fault = GP_CODE_INVALID_UTF8;
    if (offset == length) fault = gp_json_scan_keys(text, length, VALUES_MAX, &offset, note_sign, sign);
    if (fault == GP_CODE_COUNT) return true;
    gp_diagnostic *row = gp_file_fault(file, fault, "");
    if (fault == GP_CODE_NESTED_TOO_DEEPLY) {
        gp_argue_number(row, "max", GP_JSON_DEPTH_MAX);
    } else if (fault == GP_CODE_TOO_MANY_VALUES) {
        gp_argue_number(row, "max", VALUES_MAX);
    } else {
        gp_argue_number(row, "offset", (double)offset);
    }
    return false;
}

/* ---- config.json ------------------------------------------------------------------------------------------------- */

typedef struct {
    cJSON *member;
    int place;
} keyed;

static int by_key(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    int order = strcmp(x->member->string, y->member->string);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* A key that stands twice counts as it stands last, as in the library that writes these files. */
static bool drop_repeats(cJSON *tree) {
    int count = 0;
    bool done = true;
    cJSON *member = NULL;
    cJSON_ArrayForEach(member, tree) {
        if (member->child != NULL) done = drop_repeats(member) && done;
        count++;
    }
    keyed *rows = cJSON_IsObject(tree) && count > 1 ? malloc((size_t)count * sizeof *rows) : NULL;
    if (rows == NULL) return done && !(cJSON_IsObject(tree) && count > 1);
    int used = 0;
    cJSON_ArrayForEach(member, tree) {
        rows[used] = (keyed){member, used};
        used++;
    }
    qsort(rows, (size_t)used, sizeof *rows, by_key);
    for (int i = 1; i < used; i++) {
        if (strcmp(rows[i - 1].member->string, rows[i].member->string) == 0)
            cJSON_Delete(cJSON_DetachItemViaPointer(tree, rows[i - 1].member));
    }
    free(rows);
    return done;
}

/* Faults of the settings become those of the file. */
static void read_quantization(gp_import_file *file, const cJSON *tree, gp_quantization *to) {
    gp_diagnostics *faults = malloc(sizeof *faults);
    if (faults == NULL) {
        gp_file_fault(file, GP_CODE_OUT_OF_MEMORY, "");
        return;
    }
    gp_diagnostics_clear(faults);
    gp_quantization_read(tree, to, faults);
    gp_import_pass_on(faults, file->name, file->faults);
    free(faults);
}

/* hf_quant_config.json beside a config that says nothing of how it is quantised. */
static void take_quantization(gp_import_state *state, gp_import_file *file, const char *text, size_t length) {
    cJSON *tree = cJSON_ParseWithLength(text, length);
    if (tree == NULL) gp_file_fault(file, GP_CODE_OUT_OF_MEMORY, "");
    else read_quantization(file, tree, &state->beside);
    state->beside_name = file->name;
    cJSON_Delete(tree);
}

static void take_config(gp_import_state *state, gp_import_file *file, const char *text, size_t length) {
    gp_import *import = state->import;
    if (import->config != NULL) {
        gp_file_fault(file, GP_CODE_FILES_CONFLICT, "");
        return;
    }
    import->config = cJSON_ParseWithLength(text, length);
    if (import->config == NULL || !drop_repeats(import->config)) {
        gp_file_fault(file, GP_CODE_OUT_OF_MEMORY, "");
        return;
    }
    state->config_name = file->name;
    read_quantization(file, import->config, &import->quantization);
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(import->config, "model_type");
    const char *name = cJSON_IsString(type) ? type->valuestring : "";
    gp_text_copy(import->architecture, sizeof import->architecture, name, strlen(name));
    gp_config_compact(import->config, import->ignored);
    if (import->kind == GP_IMPORT_NONE) import->kind = GP_IMPORT_CONFIG;
}

/* Files that are made into a tree: of bounded length and count of values. */
static void take_tree(gp_import_state *state, gp_import_file *file, bool quantization) {
    const char *text = (const char *)file->bytes;
    size_t length = (size_t)file->length, offset = 0, plain_length = 0;
    if (length > CONFIG_BYTES_MAX) {
        gp_argue_number(gp_file_fault(file, GP_CODE_FILE_HEADER_TOO_LONG, ""), "max_bytes", CONFIG_BYTES_MAX);
        return;
    }
    if (gp_json_scan_file(text, length, GP_JSON_VALUES_MAX, &offset) != GP_CODE_COUNT) {
        gp_argue_number(gp_file_fault(file, GP_CODE_TOO_MANY_VALUES, ""), "max", GP_JSON_VALUES_MAX);
        return;
    }
    char *plain = as_plain_json(text, length, &plain_length);
    if (plain == NULL) gp_file_fault(file, GP_CODE_OUT_OF_MEMORY, "");
    else if (quantization) take_quantization(state, file, plain, plain_length);
    else take_config(state, file, plain, plain_length);
    free(plain);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static void take_index(gp_import_state *state, gp_import_file *file, size_t start) {
    if (state->has_index) gp_file_fault(file, GP_CODE_FILES_CONFLICT, "");
    else state->has_index = gp_safetensors_read_index(file, start, &state->index);
    state->index_name = file->name;
}

static void judge(gp_import_state *state, gp_import_file *file, size_t start, int sign) {
    const char *word = sign < SIGN_COUNT ? signs[sign].word : "json";
    if (word[0] != '\0') refuse(file, word);
    else if (sign == 0) take_index(state, file, start);
    else take_tree(state, file, strcmp(signs[sign].key, "quantization") == 0);
}

/* JSON is read whole. */
static bool is_whole(gp_import_file *file) {
    return gp_file_has(file, file->size == GP_SIZE_UNKNOWN ? gp_add(file->length, 1) : file->size);
}

void gp_import_json(gp_import_state *state, gp_import_file *file) {
    const char *text = (const char *)file->bytes;
    size_t length = (size_t)file->length, start = 0;
    int sign;
    while (start < length && strchr("\xef\xbb\xbf \t\r\n", text[start]) != NULL) start++;
    /* No list is read, however long it is. */
    if (start < length && text[start] == '[') refuse(file, "json");
    else if (is_whole(file) && is_json(file, text, length, &sign)) judge(state, file, start, sign);
}
