/* One GGUF file of a model: the only one, a part of a split, or the vision tower beside it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "ggml.h"
#include "gguf_config.h"
#include "import.h"
#include "quantity.h"
#include "text.h"

static bool begins(const gp_gguf_tensor *tensor, const char *word) {
    return gp_starts_folded(tensor->name, tensor->name_length, word, strlen(word));
}

static bool holds(const gp_gguf_tensor *tensor, const char *word) {
    return gp_contains_folded(tensor->name, tensor->name_length, word, strlen(word));
}

/* Names of tensors: github.com/ggml-org/llama.cpp gguf-py/gguf/constants.py. */
static gp_import_group group_of(const gp_gguf_tensor *tensor) {
    if (begins(tensor, "token_embd.") || begins(tensor, "position_embd.") || begins(tensor, "token_types."))
        return GP_GROUP_EMBEDDING;
    if (begins(tensor, "output.")) return GP_GROUP_HEAD;
    if (begins(tensor, "v.") || begins(tensor, "a.") || begins(tensor, "mm.")) return GP_GROUP_TOWERS;
    if (holds(tensor, "norm")) return GP_GROUP_NORMS;
    if (holds(tensor, "_exps.") || holds(tensor, "_chexps.")) return GP_GROUP_EXPERTS;
    return begins(tensor, "blk.") || begins(tensor, "enc.") || begins(tensor, "dec.") ? GP_GROUP_LAYERS : GP_GROUP_OTHER;
}

static void add_end(const gp_gguf *gguf, const char *name, uint64_t *bytes) {
    const gp_gguf_tensor *tensor = gp_gguf_tensor_find(gguf, name);
    if (tensor != NULL) *bytes = gp_add(*bytes, tensor->bytes);
}

static void add_tensors(gp_import_state *state, const gp_gguf *gguf) {
    gp_import *import = state->import;
    add_end(gguf, "token_embd.weight", &import->embedding_bytes);
    add_end(gguf, "output.weight", &import->output_bytes);
    for (uint64_t i = 0; i < gguf->tensor_count; i++) {
        const gp_gguf_tensor *tensor = &gguf->tensors[i];
        gp_ggml_type type = gp_ggml_find(tensor->type);
        char name[16];
        snprintf(name, sizeof name, "type %u", (unsigned)tensor->type);
        gp_import_sum *row = gp_import_type(import, type == GP_GGML_COUNT ? name : gp_ggml_info(type)->name);
        if (row != NULL) gp_import_add(row, 1, tensor->params, tensor->bytes);
        gp_import_add(&import->groups[group_of(tensor)], 1, tensor->params, tensor->bytes);
        import->params = gp_add(import->params, tensor->params);
        import->bytes = gp_add(import->bytes, tensor->bytes);
    }
    import->tensors = gp_add(import->tensors, gguf->tensor_count);
}

/* Beginnings of the keys that are not used, once each: "tokenizer". */
static void note_ignored(gp_import *import, const gp_gguf *gguf, const char *architecture) {
    for (uint64_t i = 0; i < gguf->entry_count; i++) {
        const gp_gguf_entry *entry = &gguf->entries[i];
        char start[48];
        size_t length = 0;
        while (length < entry->key_length && entry->key[length] != '.') length++;
        gp_text_copy(start, sizeof start, entry->key, length);
        if (strcmp(start, "general") == 0 || strcmp(start, "split") == 0 || strcmp(start, architecture) == 0) continue;
        const cJSON *known = NULL;
        cJSON_ArrayForEach(known, import->ignored) if (strcmp(known->valuestring, start) == 0) break;
        if (known == NULL && cJSON_GetArraySize(import->ignored) < 16)
            cJSON_AddItemToArray(import->ignored, cJSON_CreateString(start));
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
    state->split_count = (int)count;
    state->split_seen[number] = 1;
}

/* The types of the mix's matrices decide where the file does not name its mix: the one with the most bytes. */
static void name_format(gp_import *import, const gp_gguf *gguf) {
    const char *mix = gp_gguf_mix(gp_gguf_whole(gp_gguf_find(gguf, "general.file_type"), 0, UINT64_MAX));
    char name[16];
    if (mix == NULL) {
        const gp_import_sum *most = NULL;
        for (int i = 0; i < import->type_count; i++)
            if (most == NULL || import->types[i].bytes > most->bytes) most = &import->types[i];
        if (most == NULL) return;
        gp_text_copy(name, sizeof name, most->name, strlen(most->name));
        mix = name;
    }
    snprintf(import->quantization.format, sizeof import->quantization.format, "gguf:%s", mix);
    import->quantization.stated = true;
}

static void name_model(gp_import *import, const gp_gguf *gguf, const char *architecture) {
    gp_text_copy(import->architecture, sizeof import->architecture, architecture, strlen(architecture));
    if (import->name[0] != '\0') return;
    gp_gguf_text(gp_gguf_find(gguf, "general.name"), import->name, sizeof import->name);
}

/* The file that describes the model; other parts of a split only hold tensors. */
static void take_structure(gp_import_state *state, gp_import_file *file, const gp_gguf *gguf) {
    gp_import *import = state->import;
    char architecture[GP_ARCHITECTURE_BYTES];
    gp_gguf_text(gp_gguf_find(gguf, "general.architecture"), architecture, sizeof architecture);
    if (architecture[0] == '\0') return;
    name_model(import, gguf, architecture);
    note_ignored(import, gguf, architecture);
    cJSON_Delete(import->config);
    import->config = gp_gguf_config(gguf, architecture);
    if (import->config == NULL) {
        file->faulty = true;
        gp_diagnose(state->faults, GP_CODE_OUT_OF_MEMORY, file->name);
    }
}

void gp_import_gguf(gp_import_state *state, gp_import_file *file) {
    gp_gguf gguf;
    if (gp_gguf_read(file, &gguf)) {
        char architecture[8];
        gp_gguf_text(gp_gguf_find(&gguf, "general.architecture"), architecture, sizeof architecture);
        bool tower = strcmp(architecture, "clip") == 0;
        if (!tower) note_split(state, file, &gguf);
        if (gp_file_good(file)) add_tensors(state, &gguf);
        bool describes = gp_gguf_find(&gguf, "general.architecture") != NULL && !tower;
        if (describes && gp_file_good(file) && state->import->config == NULL) take_structure(state, file, &gguf);
        if (describes) name_format(state->import, &gguf);
        state->gguf_count += !tower;
        state->import->kind = GP_IMPORT_GGUF;
    }
    gp_gguf_release(&gguf);
}
