/* One GGUF file of a model: the only one, a part of a split, or the vision tower beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "config/config.h"
#include "formats/ggml.h"
#include "files/gguf_config.h"
#include "import/import.h"
#include "base/quantity.h"
#include "base/text.h"

static bool begins(const gp_gguf_tensor *tensor, const char *word) {
    return gp_starts_folded(tensor->name, tensor->name_length, word, strlen(word));
}

static bool word_at(const gp_gguf_tensor *tensor, uint32_t at, const char *word, uint32_t length) {
    return tensor->name_length - at >= length && memcmp(tensor->name + at, word, length) == 0;
}

/* Norms are norms, those of experts too. One pass: names may be long. */
static gp_import_group group_by_words(const gp_gguf_tensor *tensor, gp_import_group otherwise) {
    for (uint32_t at = 0; at < tensor->name_length; at++) {
        if (tensor->name[at] == 'n' && word_at(tensor, at, "norm", 4)) return GP_GROUP_NORMS;
        if (tensor->name[at] != '_') continue;
        if (word_at(tensor, at, "_exps.", 6) || word_at(tensor, at, "_chexps.", 8)) otherwise = GP_GROUP_EXPERTS;
    }
    return otherwise;
}

/* Names of tensors: github.com/ggml-org/llama.cpp gguf-py/gguf/constants.py. */
static gp_import_group group_of(const gp_gguf_tensor *tensor) {
    if (begins(tensor, "token_embd.") || begins(tensor, "position_embd.") || begins(tensor, "token_types."))
        return GP_GROUP_EMBEDDING;
    if (begins(tensor, "output.")) return GP_GROUP_HEAD;
    if (begins(tensor, "v.") || begins(tensor, "a.") || begins(tensor, "mm.")) return GP_GROUP_TOWERS;
    bool layer = begins(tensor, "blk.") || begins(tensor, "enc.") || begins(tensor, "dec.");
    return group_by_words(tensor, layer ? GP_GROUP_LAYERS : GP_GROUP_OTHER);
}

static void add_end(const gp_gguf *gguf, const char *name, uint64_t *bytes) {
    const gp_gguf_tensor *tensor = gp_gguf_tensor_find(gguf, name);
    if (tensor != NULL) *bytes = gp_add(*bytes, tensor->bytes);
}

/* Row of a type by its number; NULL when there are too many. */
static gp_import_sum *type_of(gp_import *import, uint32_t number) {
    char name[16];
    gp_ggml_type type = gp_ggml_find(number);
    if (type != GP_GGML_COUNT) return gp_import_type(import, gp_ggml_info(type)->name);
    snprintf(name, sizeof name, "type %u", (unsigned)number);
    return gp_import_type(import, name);
}

static void add_tensors(gp_import_state *state, const gp_gguf *gguf) {
    gp_import *import = state->import;
    gp_import_sum *rows[GP_GGUF_TYPE_MAX + 1] = {NULL};
    bool asked[GP_GGUF_TYPE_MAX + 1] = {false};
    add_end(gguf, "token_embd.weight", &import->embedding_bytes);
    add_end(gguf, "output.weight", &import->output_bytes);
    for (uint64_t i = 0; i < gguf->tensor_count; i++) {
        const gp_gguf_tensor *tensor = &gguf->tensors[i];
        uint64_t block = gp_gguf_block_of(tensor);
        if (block < GP_GGUF_BLOCKS_MAX) state->block_seen[block] = 1;
        if (!asked[tensor->type]) rows[tensor->type] = type_of(import, tensor->type);
        asked[tensor->type] = true;
        gp_import_sum *row = rows[tensor->type];
        if (row != NULL) gp_import_add(row, 1, tensor->params, tensor->bytes);
        gp_import_add(&import->groups[group_of(tensor)], 1, tensor->params, tensor->bytes);
        import->params = gp_add(import->params, tensor->params);
        import->bytes = gp_add(import->bytes, tensor->bytes);
    }
    import->tensors = gp_add(import->tensors, gguf->tensor_count);
    for (uint64_t i = 0; i < gguf->tensor_count; i++) {
        const gp_gguf_tensor *tensor = &gguf->tensors[i];
        if (gp_name_list_add(&state->names, tensor->name, tensor->name_length)) continue;
        gp_diagnose(state->faults, GP_CODE_OUT_OF_MEMORY, "");
        return;
    }
}

/* Beginnings of the keys that are not used, the first of them, once each: "tokenizer". */
static void note_ignored(gp_import *import, const gp_gguf *gguf, const char *architecture) {
    enum { TOLD_MAX = 16 };
    int told = cJSON_GetArraySize(import->ignored);
    for (uint64_t i = 0; i < gguf->entry_count && told < TOLD_MAX; i++) {
        const gp_gguf_entry *entry = &gguf->entries[i];
        char start[48];
        size_t length = 0;
        while (length < entry->key_length && entry->key[length] != '.') length++;
        gp_text_copy(start, sizeof start, entry->key, length);
        if (strcmp(start, "general") == 0 || strcmp(start, "split") == 0 || strcmp(start, architecture) == 0) continue;
        const cJSON *known = NULL;
        cJSON_ArrayForEach(known, import->ignored) if (strcmp(known->valuestring, start) == 0) break;
        if (known != NULL) continue;
        cJSON_AddItemToArray(import->ignored, cJSON_CreateString(start));
        told++;
    }
}

static void conflict(gp_import_state *state, gp_import_file *file) {
    file->faulty = true;
    gp_diagnose(state->faults, GP_CODE_FILES_CONFLICT, file->name);
}

static void note_split(gp_import_state *state, gp_import_file *file, const gp_gguf *gguf) {
    uint64_t count = gp_gguf_whole(gp_gguf_find(gguf, "split.count"), 0, 0);
    uint64_t number = gp_gguf_whole(gp_gguf_find(gguf, "split.no"), 0, 0);
    bool fits = count > 1 && count <= GP_IMPORT_PARTS_MAX && number < count;
    bool first = state->gguf_count == 0;
    if (count <= 1 && first) return;
    if (!fits || (!first && (uint64_t)state->split_count != count) || state->split_seen[number] != 0) {
        conflict(state, file);
        return;
    }
    uint64_t tensors = gp_gguf_whole(gp_gguf_find(gguf, "split.tensors.count"), 0, 0);
    if (tensors > 0) state->split_tensors = tensors;
    state->split_count = (int)count;
    state->split_seen[number] = 1;
}

/* All parts that name an architecture name the same. */
static void note_architecture(gp_import_state *state, gp_import_file *file, const char *architecture) {
    char *known = state->gguf_architecture;
    if (known[0] == '\0') gp_text_copy(known, sizeof state->gguf_architecture, architecture, strlen(architecture));
    else if (strcmp(known, architecture) != 0) conflict(state, file);
}

/* "gguf:Q4_K_M", where the file names its mix. */
static void name_format(gp_import *import, const gp_gguf *gguf) {
    const char *mix = gp_gguf_mix(gp_gguf_whole(gp_gguf_find(gguf, "general.file_type"), 0, UINT64_MAX));
    if (mix == NULL) return;
    snprintf(import->quantization.format, sizeof import->quantization.format, "gguf:%s", mix);
    import->quantization.stated = true;
}

static void name_model(gp_import *import, const gp_gguf *gguf, const char *architecture) {
    gp_text_copy(import->architecture, sizeof import->architecture, architecture, strlen(architecture));
    if (import->name[0] != '\0') return;
    gp_gguf_text(gp_gguf_find(gguf, "general.name"), import->name, sizeof import->name);
}

/* ---- The model that the metadata describes ------------------------------------------------------------------------ */

/* A fault of the config is one of the key that it was made from. */
static void retell(gp_import_file *file, const gp_gguf *gguf, const cJSON *config, const char *architecture,
                   const gp_diagnostic *fault) {
    const size_t before = sizeof "config." - 1;
    const char *name = strlen(fault->path) > before ? fault->path + before : "";
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, "model_type"));
    const char *key = gp_gguf_key_of(type, name);
    char full[GP_TEXT_BYTES + GP_PATH_BYTES];
    snprintf(full, sizeof full, "%s.%s", architecture, key != NULL ? key : name);
    bool zero = fault->code == GP_CODE_INCOMPLETE_MODEL && gp_gguf_find(gguf, full) != NULL;
    gp_code code = zero ? GP_CODE_OUT_OF_RANGE : fault->code;
    gp_diagnostic *row = gp_gguf_fault(file, code, architecture, key != NULL ? key : name);
    if (zero) {
        gp_argue_number(row, "value", 0);
        gp_argue_number(row, "min", 1);
        gp_argue_number(row, "max", (double)GP_DIMENSION_MAX);
    }
    for (int i = 0; i < fault->argument_count && !zero; i++) {
        const gp_argument *argument = &fault->arguments[i];
        bool what = strcmp(argument->name, "what") == 0;
        if (argument->kind == GP_ARGUMENT_NUMBER) gp_argue_number(row, argument->name, argument->number);
        else gp_argue_text(row, argument->name, what ? full : argument->text);
    }
}

/* The model of the config, against which tensors are held; NULL when it is not planned, or after error rows. */
static gp_model *read_model(gp_import_state *state, gp_import_file *file, const gp_gguf *gguf, const char *architecture) {
    gp_model *model = calloc(1, sizeof *model);
    gp_diagnostics *faults = malloc(sizeof *faults);
    bool good = false;
    if (model != NULL && faults != NULL) {
        gp_diagnostics_clear(faults);
        good = gp_config_read(state->import->config, "config", &model->shape, faults);
        if (good) gp_model_count(NULL, model);
        for (int i = 0; i < faults->count && !good; i++) {
            if (faults->rows[i].code != GP_CODE_UNSUPPORTED_ARCHITECTURE)
                retell(file, gguf, state->import->config, architecture, &faults->rows[i]);
        }
    }
    free(faults);
    if (good) return model;
    free(model);
    return NULL;
}

static void compare(gp_import_state *state, gp_import_file *file, const gp_gguf *gguf) {
    gp_model *model = read_model(state, file, gguf, state->import->architecture);
    bool last = state->gguf_count + 1 >= state->split_count;
    if (model != NULL) gp_import_compare(gguf, model, &state->contradiction);
    if (model != NULL && last) gp_import_find_missing(model, &state->contradiction);
    free(model);
}

/* The file that describes the model; other parts of a split only hold tensors. */
static void take_structure(gp_import_state *state, gp_import_file *file, const gp_gguf *gguf, const char *architecture) {
    gp_import *import = state->import;
    char key[GP_ARCHITECTURE_BYTES + 16];
    snprintf(key, sizeof key, "%s.block_count", architecture);
    name_model(import, gguf, architecture);
    note_ignored(import, gguf, architecture);
    state->blocks_stated = gp_gguf_whole(gp_gguf_find(gguf, key), 0, 0);
    import->config = gp_gguf_config(gguf, architecture, file);
    if (import->config == NULL) {
        file->faulty = true;
        gp_diagnose(state->faults, GP_CODE_OUT_OF_MEMORY, file->name);
    }
}

/* False after an error row: an architecture that is no text. */
static bool read_architecture(gp_import_file *file, const gp_gguf *gguf, char architecture[GP_ARCHITECTURE_BYTES]) {
    const gp_gguf_entry *entry = gp_gguf_find(gguf, "general.architecture");
    gp_gguf_text(entry, architecture, GP_ARCHITECTURE_BYTES);
    if (entry == NULL || (entry->kind == GP_GGUF_STRING && !entry->is_array)) return true;
    gp_argue_text(gp_gguf_fault(file, GP_CODE_WRONG_TYPE, "general", "architecture"), "expected", "text");
    return false;
}

void gp_import_gguf(gp_import_state *state, gp_import_file *file) {
    gp_gguf gguf;
    char architecture[GP_ARCHITECTURE_BYTES] = "";
    if (gp_gguf_read(file, &gguf) && read_architecture(file, &gguf, architecture)) {
        bool tower = strcmp(architecture, "clip") == 0;
        bool describes = architecture[0] != '\0' && !tower;
        if (!tower) note_split(state, file, &gguf);
        if (gp_file_good(file) && describes) note_architecture(state, file, architecture);
        if (gp_file_good(file)) add_tensors(state, &gguf);
        if (gp_file_good(file) && describes && state->import->config == NULL)
            take_structure(state, file, &gguf, architecture);
        if (gp_file_good(file) && !tower && state->import->config != NULL) compare(state, file, &gguf);
        if (describes) name_format(state->import, &gguf);
        state->gguf_count += !tower;
        state->tower_count += tower;
        if (!tower) state->part_tensors = gp_add(state->part_tensors, gguf.tensor_count);
        state->import->kind = GP_IMPORT_GGUF;
    }
    gp_gguf_release(&gguf);
}

/* ---- All files together ------------------------------------------------------------------------------------------- */

/* Without a word of the files about their mix, the type with the most bytes names it. */
static void name_by_types(gp_import *import) {
    const gp_import_sum *most = &import->types[0];
    for (int i = 1; i < import->type_count; i++)
        if (import->types[i].bytes > most->bytes) most = &import->types[i];
    snprintf(import->quantization.format, sizeof import->quantization.format, "gguf:%s", most->name);
    import->quantization.stated = true;
}

static void warn_of_types(gp_import_state *state, const char *path) {
    for (int i = 0; i < state->import->type_count; i++) {
        const gp_import_sum *type = &state->import->types[i];
        if (strncmp(type->name, "type ", 5) != 0) continue;
        gp_diagnostic *row = gp_diagnose(state->faults, GP_CODE_TYPE_NOT_KNOWN, path);
        gp_argue_text(row, "value", type->name + 5);
        gp_argue_number(row, "tensors", (double)type->tensors);
        gp_argue_number(row, "bytes", (double)type->bytes);
    }
}

static void warn_of_blocks(gp_import_state *state, const char *path) {
    int found = 0;
    for (int i = 0; i < GP_GGUF_BLOCKS_MAX; i++) found += state->block_seen[i];
    bool differ = found > 0 && state->blocks_stated > 0 && state->blocks_stated != (uint64_t)found;
    if (!differ || (found == GP_GGUF_BLOCKS_MAX && state->blocks_stated > GP_GGUF_BLOCKS_MAX)) return;
    gp_diagnostic *row = gp_diagnose(state->faults, GP_CODE_BLOCKS_DIFFER, path);
    gp_argue_number(row, "found", found);
    gp_argue_number(row, "stated", (double)state->blocks_stated);
}

/* False after an error row: parts that do not hold what they state together; a tower is no part. */
static bool check_tensor_count(gp_import_state *state, const char *path) {
    if (state->split_tensors == 0 || state->part_tensors == state->split_tensors) return true;
    gp_diagnostic *row = gp_diagnose(state->faults, GP_CODE_TENSOR_COUNT_DIFFERS, path);
    gp_argue_number(row, "found", (double)state->part_tensors);
    gp_argue_number(row, "stated", (double)state->split_tensors);
    return false;
}

bool gp_import_gguf_end(gp_import_state *state, const char *path) {
    if (state->import->tensors == 0) {
        gp_diagnose(state->faults, GP_CODE_FILE_EMPTY, path);
        return false;
    }
    if (!check_tensor_count(state, path)) return false;
    if (state->import->quantization.format[0] == '\0') name_by_types(state->import);
    warn_of_types(state, path);
    warn_of_blocks(state, path);
    if (state->contradiction.count == 0) return true;
    gp_diagnostic *row = gp_diagnose(state->faults, GP_CODE_TENSORS_DIFFER, path);
    gp_argue_text(row, "value", state->contradiction.name);
    gp_argue_number(row, "tensors", (double)state->contradiction.count);
    gp_argue_number(row, "found", (double)state->contradiction.found);
    gp_argue_number(row, "expected", (double)state->contradiction.expected);
    return true;
}
