#include "import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "files/looks_like.h"
#include "base/quantity.h"
#include "base/text.h"

void gp_import_pass_on(const gp_diagnostics *faults, const char *name, gp_diagnostics *to) {
    for (int i = 0; i < faults->count; i++) {
        char path[GP_PATH_BYTES];
        gp_file_path(name, faults->rows[i].path, path);
        gp_diagnostic *row = gp_diagnose_once(to, faults->rows[i].code, path);
        *row = faults->rows[i];
        memcpy(row->path, path, sizeof path);
    }
}

void gp_import_add(gp_import_sum *sum, uint64_t tensors, uint64_t params, uint64_t bytes) {
    sum->tensors = gp_add(sum->tensors, tensors);
    sum->params = gp_add(sum->params, params);
    sum->bytes = gp_add(sum->bytes, bytes);
}

gp_import_sum *gp_import_type(gp_import *import, const char *name) {
    int i = 0;
    while (i < import->type_count && strcmp(import->types[i].name, name) != 0) i++;
    if (i == GP_IMPORT_TYPES_MAX) return NULL;
    if (i == import->type_count) {
        import->type_count++;
        gp_text_copy(import->types[i].name, sizeof import->types[i].name, name, strlen(name));
    }
    return &import->types[i];
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static void read_file(gp_import_state *state, gp_import_file *file) {
    const uint64_t enough_to_judge = 512;
    gp_looks looks = gp_looks_like(file->bytes, (size_t)file->length);
    if (file->length < enough_to_judge && file->length < file->size) {
        file->need = enough_to_judge < file->size ? enough_to_judge : file->size;
        return;
    }
    switch (looks.kind) {
    case GP_LOOKS_GGUF: gp_import_gguf(state, file); return;
    case GP_LOOKS_SAFETENSORS:
        if (gp_safetensors_read(file, &state->headers, &state->names)) state->header_count++;
        return;
    case GP_LOOKS_JSON: gp_import_json(state, file); return;
    case GP_LOOKS_OTHER: break;
    }
    gp_argue_text(gp_file_fault(file, GP_CODE_FILE_UNKNOWN, ""), "looks", looks.word);
}

static bool read_files(gp_import_state *state, gp_import_part *parts, int count) {
    bool good = true;
    uint64_t total = 0;
    for (int i = 0; i < count && total <= GP_IMPORT_TOTAL_MAX; i++) {
        gp_import_file file = {.name = parts[i].name, .bytes = parts[i].bytes, .length = parts[i].length,
                               .size = parts[i].size, .faults = state->faults};
        read_file(state, &file);
        parts[i].need = file.need;
        total = gp_add(total, file.need > file.length ? file.need : file.length);
        if (total > GP_IMPORT_TOTAL_MAX) {
            gp_diagnostic *row = gp_file_fault(&file, GP_CODE_FILE_HEADER_TOO_LONG, "");
            gp_argue_number(row, "max_bytes", (double)GP_IMPORT_TOTAL_MAX);
        }
        good = good && gp_file_good(&file);
    }
    return good;
}

/* Name of the part in whose bytes `at` is. */
static const char *part_of(const gp_import_part *parts, int count, const char *at) {
    int i = 0;
    while (i + 1 < count && (uintptr_t)at - (uintptr_t)parts[i].bytes >= parts[i].length) i++;
    return parts[i].name;
}

/* No tensor of one part is in another. False after an error row. */
static bool check_names(gp_import_state *state, const gp_import_part *parts, int count) {
    gp_name_table table = {.count = 0};
    uint32_t repeat = GP_NAME_NONE;
    bool made = gp_name_table_make(&table, state->names.names, state->names.count);
    if (made) repeat = gp_name_table_repeat(&table);
    else gp_diagnose(state->faults, GP_CODE_OUT_OF_MEMORY, "");
    gp_name_table_release(&table);
    if (repeat != GP_NAME_NONE)
        gp_diagnose(state->faults, GP_CODE_FILES_CONFLICT, part_of(parts, count, state->names.names[repeat].name));
    return made && repeat == GP_NAME_NONE;
}

/* ---- Together ---------------------------------------------------------------------------------------------------- */

/* "-00002-of-00003" in a name, and "-00002-of-000163" as DeepSeek writes it: the number and the count. */
static bool split_name(const char *name, int *number, int *count) {
    const char *mark = strstr(name, "-of-");
    if (mark == NULL || mark - name < 6) return false;
    *number = *count = 0;
    for (const char *at = mark - 5; at < mark; at++) {
        if (!gp_is_digit(*at)) return false;
        *number = *number * 10 + (*at - '0');
    }
    int digits = 0;
    for (const char *at = mark + 4; gp_is_digit(*at) && digits < 7; at++, digits++) *count = *count * 10 + (*at - '0');
    return (digits == 5 || digits == 6) && *number >= 1 && *number <= *count && *count <= GP_IMPORT_PARTS_MAX;
}

/* Error row when parts of a split are not among the files: "2, 3". */
static bool check_split(gp_import_state *state, const char *name) {
    char missing[GP_TEXT_BYTES - 8] = "";
    size_t length = 0;
    for (int i = 0; i < state->split_count; i++) {
        if (state->split_seen[i] != 0) continue;
        char number[16];
        size_t size = (size_t)snprintf(number, sizeof number, "%s%d", length > 0 ? ", " : "", i + 1);
        if (length + size + 4 >= sizeof missing) {
            memcpy(missing + length, " \xe2\x80\xa6", 5);
            break;
        }
        memcpy(missing + length, number, size + 1);
        length += size;
    }
    if (length == 0) return true;
    gp_diagnostic *row = gp_diagnose(state->faults, GP_CODE_FILE_PARTS_MISSING, name);
    gp_argue_text(row, "parts", missing);
    gp_argue_number(row, "count", state->split_count);
    return false;
}

static bool check_header_split(gp_import_state *state, const gp_import_part *parts, int count) {
    const char *first = NULL;
    for (int i = 0; i < count; i++) {
        int number = 0, of = 0;
        if (!split_name(parts[i].name, &number, &of)) continue;
        bool other = state->split_count != 0 && state->split_count != of;
        if (other || state->split_seen[number - 1] != 0) {
            gp_diagnose(state->faults, GP_CODE_FILES_CONFLICT, parts[i].name);
            return false;
        }
        state->split_count = of;
        state->split_seen[number - 1] = 1;
        if (first == NULL) first = parts[i].name;
    }
    return check_split(state, first);
}

/* Types that hold one parameter in an element, in a model without packed weights. */
static bool is_plain(const char *type) {
    return strcmp(type, "BF16") == 0 || strcmp(type, "F16") == 0 || strcmp(type, "F32") == 0 || strcmp(type, "F64") == 0;
}

static void take_headers(gp_import_state *state) {
    gp_import *import = state->import;
    const gp_safetensors_type *most = NULL;
    bool plain = true;
    uint64_t elements = 0;
    for (int i = 0; i < state->headers.type_count; i++) {
        const gp_safetensors_type *type = &state->headers.types[i];
        gp_import_sum *row = gp_import_type(import, type->type);
        if (row != NULL) gp_import_add(row, type->tensors, type->elements, type->bytes);
        if (most == NULL || type->bytes > most->bytes) most = type;
        /* Masks and counters are no parameters. */
        if (is_plain(type->type)) elements = gp_add(elements, type->elements);
        else if (type->bytes * 1000 > state->headers.bytes) plain = false;
    }
    import->kind = GP_IMPORT_SAFETENSORS;
    import->tensors = state->headers.tensors;
    import->bytes = state->headers.bytes;
    if (plain) import->params = elements;
    bool packed = import->quantization.method[0] != '\0' && !plain;
    if (packed || most == NULL) return;
    /* What is stored counts more than what the config says it is. */
    const char *format = gp_format_of_dtype(most->type);
    import->quantization.method[0] = '\0';
    gp_text_copy(import->quantization.format, sizeof import->quantization.format, format, strlen(format));
    import->quantization.stated = true;
}

/* An index tells only the sum; without packed weights each parameter takes the bytes of the config's type. */
static void take_index(gp_import_state *state) {
    gp_import *import = state->import;
    const gp_quantization *stored = &import->quantization;
    import->kind = GP_IMPORT_INDEX;
    import->tensors = state->index.tensors;
    import->bytes = state->index.bytes;
    import->params = 0;
    if (stored->method[0] != '\0' || import->bytes == 0 || !stored->stated) return;
    uint64_t width = strcmp(stored->format, "fp32") == 0 ? 4 : strcmp(stored->format, "fp8") == 0 ? 1 : 2;
    if (import->bytes % width == 0) import->params = import->bytes / width;
}

/* Headers of all the files that the index names, by the count of their tensors. */
static bool covers_index(const gp_import_state *state) {
    return state->header_count > 0 && state->headers.tensors == state->index.tensors;
}

/* Headers are exact, what an index states need not be. */
static void compare_index(gp_import_state *state) {
    uint64_t held = state->headers.bytes, stated = state->index.bytes;
    if (stated == 0 || stated == held) return;
    gp_diagnostic *row = gp_diagnose(state->faults, GP_CODE_INDEX_DIFFERS, state->index_name);
    gp_argue_number(row, "file_bytes", (double)held);
    gp_argue_number(row, "stated_bytes", (double)stated);
    gp_argue_number(row, "difference_bytes", (double)(held > stated ? held - stated : stated - held));
}

static bool put_together(gp_import_state *state, const gp_import_part *parts, int count) {
    gp_import *import = state->import;
    if (state->header_count + state->gguf_count + state->tower_count > 1 && !check_names(state, parts, count)) return false;
    bool other = state->header_count > 0 || state->has_index;
    if (state->beside.method[0] != '\0' && import->quantization.method[0] == '\0') import->quantization = state->beside;
    else state->beside_name = NULL;
    if (state->gguf_count > 0 && (other || count > state->gguf_count + 1)) {
        gp_diagnose(state->faults, GP_CODE_FILES_CONFLICT, parts[count - 1].name);
        return false;
    }
    if (import->kind == GP_IMPORT_GGUF) {
        if (!check_split(state, parts[0].name) || !gp_import_gguf_end(state, parts[0].name)) return false;
    } else if (state->has_index && !covers_index(state)) {
        take_index(state);
    } else if (state->header_count > 0) {
        if (!check_header_split(state, parts, count)) return false;
        take_headers(state);
        if (state->has_index) compare_index(state);
    }
    if (import->bytes > GP_EXACT_MAX || import->params > GP_EXACT_MAX) {
        gp_diagnose(state->faults, GP_CODE_NUMBER_TOO_LARGE, parts[0].name);
        return false;
    }
    if (import->quantization.format[0] == '\0' && import->quantization.method[0] == '\0')
        gp_text_copy(import->quantization.format, sizeof import->quantization.format, "bf16", 4);
    if (import->config == NULL && import->bytes == 0) {
        gp_diagnose(state->faults, GP_CODE_FILE_ALONE, parts[0].name);
        return false;
    }
    if (import->config == NULL) gp_diagnose(state->faults, GP_CODE_STRUCTURE_MISSING, parts[0].name);
    else if (!gp_import_count(state, parts[0].name)) return false;
    gp_import_check_format(state, parts[0].name);
    return true;
}

bool gp_import_read(gp_import_part *parts, int count, const char *name, gp_import *import, gp_diagnostics *faults) {
    *import = (gp_import){.kind = GP_IMPORT_NONE};
    gp_import_state *state = calloc(1, sizeof *state);
    import->ignored = cJSON_CreateArray();
    if (state == NULL || import->ignored == NULL) {
        free(state);
        gp_diagnose(faults, GP_CODE_OUT_OF_MEMORY, "");
        return false;
    }
    state->import = import;
    state->faults = faults;
    if (name != NULL) gp_text_copy(import->name, sizeof import->name, name, strlen(name));
    bool whole = read_files(state, parts, count), good = whole && put_together(state, parts, count);
    /* A config beside a faulty file: its faults are told with those of the file. */
    if (!whole && import->config != NULL && gp_has_errors(faults)) gp_import_count(state, parts[0].name);
    gp_name_list_release(&state->names);
    free(state);
    return good && !gp_has_errors(faults);
}

void gp_import_release(gp_import *import) {
    cJSON_Delete(import->config);
    cJSON_Delete(import->ignored);
    import->config = import->ignored = NULL;
}
