/* A JSON file of a model: a config, an index, or something else that is named. */
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "config_compact.h"
#include "import.h"
#include "json_cursor.h"
#include "json_scan.h"
#include "text.h"

/* Longest config: with the rest of a job it must fit into a request. */
#define CONFIG_BYTES_MAX ((size_t)1 << 19)

/* ---- What kind of JSON ------------------------------------------------------------------------------------------- */

static const struct {
    const char *key, *word; /* word of the group LOOKS, "" for what is read */
} signs[] = {
    {"weight_map", ""},          {"peft_type", "adapter"},       {"lora_alpha", "adapter"},
    {"_class_name", "diffusers"}, {"_diffusers_version", "diffusers"}, {"op", "job"},
    {"gpuplan", "job"},          {"task", "job"},                {"model_type", ""},
    {"architectures", ""},       {"hidden_size", ""},            {"n_embd", ""},
    {"d_model", ""},             {"num_hidden_layers", ""},      {"text_config", ""},
    {"quantization", ""},
    {"tokenizer_class", "tokenizer"}, {"added_tokens", "tokenizer"}, {"added_tokens_decoder", "tokenizer"},
    {"eos_token_id", "generation"}, {"do_sample", "generation"},
};
enum { SIGN_COUNT = sizeof signs / sizeof signs[0] };

/* Index of the first sign that is a key of the object, SIGN_COUNT when none is. */
static int find_sign(gp_json_cursor cursor) {
    int found = SIGN_COUNT;
    gp_json_text key;
    if (gp_json_kind(&cursor) != '{') return found;
    gp_json_enter(&cursor);
    while (gp_json_member(&cursor, &key)) {
        for (int i = 0; i < found; i++)
            if (gp_text_is(signs[i].key, key.bytes, key.length)) found = i;
        gp_json_skip(&cursor);
    }
    return found;
}

static void refuse(gp_import_file *file, const char *word) {
    file->faulty = true;
    gp_argue_text(gp_diagnose(file->faults, GP_CODE_FILE_UNKNOWN, file->name), "looks", word);
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

/* Python writes numbers that JSON does not have. Outside of texts they become null and blanks, in place. */
static void replace_infinities(char *text, size_t length) {
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    bool inside = false;
    for (size_t at = 0; at < length; at++) {
        if (text[at] == '"') inside = !inside;
        if (inside && text[at] == '\\') at++;
        if (inside) continue;
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            size_t size = strlen(words[i]);
            if (size > length - at || memcmp(text + at, words[i], size) != 0) continue;
            /* There is no room for "null" in place of "NaN". */
            memset(text + at, ' ', size);
            memcpy(text + at, size >= 4 ? "null" : "0", size >= 4 ? 4 : 1);
            at += size - 1;
            break;
        }
    }
}

/* False after an error row. */
static bool is_json(gp_import_file *file, const char *text, size_t length) {
    size_t offset = gp_utf8_prefix(text, length);
    gp_code fault = GP_CODE_INVALID_UTF8;
    if (offset == length) fault = gp_json_scan_up_to(text, length, 24 * GP_IMPORT_ENTRIES_MAX, &offset);
    if (fault == GP_CODE_COUNT) return true;
    file->faulty = true;
    gp_diagnostic *row = gp_diagnose(file->faults, fault, file->name);
    if (fault == GP_CODE_NESTED_TOO_DEEPLY) {
        gp_argue_number(row, "max", GP_JSON_DEPTH_MAX);
    } else if (fault == GP_CODE_TOO_MANY_VALUES) {
        gp_argue_number(row, "max", 24.0 * GP_IMPORT_ENTRIES_MAX);
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

/* hf_quant_config.json beside a config that says nothing of how it is quantised. */
static void take_quantization(gp_import_state *state, gp_import_file *file, const char *text, size_t length) {
    cJSON *tree = cJSON_ParseWithLength(text, length);
    if (tree == NULL) {
        file->faulty = true;
        gp_diagnose(file->faults, GP_CODE_OUT_OF_MEMORY, file->name);
        return;
    }
    gp_quantization_read(tree, &state->beside);
    cJSON_Delete(tree);
}

static void take_config(gp_import_state *state, gp_import_file *file, const char *text, size_t length) {
    gp_import *import = state->import;
    size_t offset = 0;
    bool bounded = gp_json_scan(text, length, &offset) == GP_CODE_COUNT;
    if (!bounded) {
        file->faulty = true;
        gp_argue_number(gp_diagnose(file->faults, GP_CODE_TOO_MANY_VALUES, file->name), "max", GP_JSON_VALUES_MAX);
        return;
    }
    if (import->config != NULL) {
        file->faulty = true;
        gp_diagnose(file->faults, GP_CODE_FILES_CONFLICT, file->name);
        return;
    }
    import->config = cJSON_ParseWithLength(text, length);
    if (import->config == NULL || !drop_repeats(import->config)) {
        file->faulty = true;
        gp_diagnose(file->faults, GP_CODE_OUT_OF_MEMORY, file->name);
        return;
    }
    drop_repeats(import->config);
    gp_quantization_read(import->config, &import->quantization);
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(import->config, "model_type");
    const char *name = cJSON_IsString(type) ? type->valuestring : "";
    gp_text_copy(import->architecture, sizeof import->architecture, name, strlen(name));
    gp_config_compact(import->config, import->ignored);
    if (import->kind == GP_IMPORT_NONE) import->kind = GP_IMPORT_CONFIG;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static void take_index(gp_import_state *state, gp_import_file *file) {
    if (state->has_index) {
        file->faulty = true;
        gp_diagnose(file->faults, GP_CODE_FILES_CONFLICT, file->name);
    } else {
        state->has_index = gp_safetensors_read_index(file, &state->index);
    }
}

static void judge(gp_import_state *state, gp_import_file *file, const char *text, size_t length) {
    if (!is_json(file, text, length)) return;
    gp_json_cursor cursor = {text, text + length};
    while (cursor.at < cursor.end && strchr("\xef\xbb\xbf \t\r\n", *cursor.at) != NULL) cursor.at++;
    int sign = find_sign(cursor);
    const char *word = sign < SIGN_COUNT ? signs[sign].word : "json";
    if (word[0] != '\0') {
        refuse(file, word);
    } else if (sign == 0) {
        take_index(state, file);
    } else if (length > CONFIG_BYTES_MAX) {
        file->faulty = true;
        gp_argue_number(gp_diagnose(file->faults, GP_CODE_FILE_HEADER_TOO_LONG, file->name), "max_bytes", CONFIG_BYTES_MAX);
    } else if (strcmp(signs[sign].key, "quantization") == 0) {
        take_quantization(state, file, text, length);
    } else {
        take_config(state, file, text, length);
    }
}

void gp_import_json(gp_import_state *state, gp_import_file *file) {
    size_t length = (size_t)file->length;
    if (length > CONFIG_BYTES_MAX) {
        judge(state, file, (const char *)file->bytes, length);
        return;
    }
    char *text = malloc(length + 1);
    if (text == NULL) {
        file->faulty = true;
        gp_diagnose(file->faults, GP_CODE_OUT_OF_MEMORY, file->name);
        return;
    }
    memcpy(text, file->bytes, length);
    replace_infinities(text, length);
    judge(state, file, text, length);
    free(text);
}
