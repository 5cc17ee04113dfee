#include "files/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "formats/ggml.h"
#include "base/quantity.h"
#include "base/text.h"

/* The tensors of one file hold fewer bytes than this; also the largest number a report carries exactly. */
#define BYTES_MAX GP_EXACT_MAX
enum { NESTING_MAX = 4, KEY_BYTES_MAX = 65535, NAME_BYTES_MAX = 1024 };

static const unsigned char kind_bytes[GP_GGUF_KIND_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* ---- Metadata ---------------------------------------------------------------------------------------------------- */

/* A string's length and its bytes. */
static const unsigned char *take_string(gp_import_file *file, uint64_t *length) {
    *length = gp_file_u64(file);
    return gp_file_take(file, *length);
}

static gp_gguf_kind take_kind(gp_import_file *file) {
    uint64_t start = file->at;
    uint32_t kind = gp_file_u32(file);
    if (gp_file_good(file) && kind < GP_GGUF_KIND_COUNT) return (gp_gguf_kind)kind;
    gp_file_damage(file, "value_kind", start);
    return GP_GGUF_U8;
}

/* Passes over an array's elements. Each takes at least a byte, so the count is bounded by the bytes at hand. */
static void skip_elements(gp_import_file *file, gp_gguf_kind kind, uint64_t count, int depth) {
    uint64_t least = kind == GP_GGUF_STRING ? 8 : kind == GP_GGUF_ARRAY ? 12 : kind_bytes[kind];
    if (file->size != GP_SIZE_UNKNOWN && gp_mul(count, least) > file->size) {
        gp_file_damage(file, "count", file->at);
        return;
    }
    if (kind_bytes[kind] > 0) {
        gp_file_take(file, gp_mul(count, kind_bytes[kind]));
        return;
    }
    if (depth == NESTING_MAX) gp_file_damage(file, "nesting", file->at);
    for (uint64_t i = 0; i < count && gp_file_good(file); i++) {
        uint64_t length = 0;
        if (kind == GP_GGUF_STRING) {
            take_string(file, &length);
            continue;
        }
        gp_gguf_kind inner = take_kind(file);
        length = gp_file_u64(file);
        if (length > 0) skip_elements(file, inner, length, depth + 1);
    }
}

static void read_value(gp_import_file *file, gp_gguf_entry *entry) {
    entry->kind = take_kind(file);
    entry->count = 1;
    if (entry->kind == GP_GGUF_STRING) {
        entry->bytes = take_string(file, &entry->count);
    } else if (entry->kind == GP_GGUF_ARRAY) {
        entry->is_array = true;
        entry->kind = take_kind(file);
        entry->count = gp_file_u64(file);
        entry->bytes = file->bytes + file->at;
        skip_elements(file, entry->kind, entry->count, 1);
    } else {
        entry->bytes = gp_file_take(file, kind_bytes[entry->kind]);
    }
}

static void read_entries(gp_import_file *file, gp_gguf *gguf) {
    for (uint64_t i = 0; i < gguf->entry_count && gp_file_good(file); i++) {
        gp_gguf_entry *entry = &gguf->entries[i];
        uint64_t start = file->at, length = 0;
        entry->key = (const char *)take_string(file, &length);
        if (gp_file_good(file) && (length == 0 || length > KEY_BYTES_MAX)) gp_file_damage(file, "key_length", start);
        entry->key_length = (uint32_t)length;
        read_value(file, entry);
    }
}

/* ---- Tensors ----------------------------------------------------------------------------------------------------- */

/* Bytes of a tensor whose rows are whole blocks; UINT64_MAX for a type that is not known. */
static uint64_t tensor_bytes(gp_import_file *file, const gp_gguf_tensor *tensor, uint64_t place) {
    gp_ggml_type type = gp_ggml_find(tensor->type);
    if (type == GP_GGML_COUNT) {
        if (tensor->type > GP_GGUF_TYPE_MAX) gp_file_damage(file, "tensor_type", place);
        return UINT64_MAX;
    }
    uint64_t width = tensor->dimensions[0];
    if (width % (uint64_t)gp_ggml_info(type)->values != 0) gp_file_damage(file, "row_length", place);
    return gp_ggml_bytes(type, width, tensor->params / width);
}

static void read_dimensions(gp_import_file *file, gp_gguf_tensor *tensor) {
    uint64_t place = file->at;
    uint32_t count = gp_file_u32(file);
    if (gp_file_good(file) && count > GP_GGUF_DIMENSIONS_MAX) gp_file_damage(file, "dimensions", place);
    tensor->params = 1;
    for (uint32_t i = 0; i < GP_GGUF_DIMENSIONS_MAX; i++) {
        tensor->dimensions[i] = i < count && gp_file_good(file) ? gp_file_u64(file) : 1;
        tensor->params = gp_mul(tensor->params, tensor->dimensions[i]);
        /* A negative number is one above 2^63 here. */
        if (gp_file_good(file) && (tensor->params == 0 || tensor->params > BYTES_MAX))
            gp_file_damage(file, "dimensions", place);
    }
    tensor->dimension_count = (int)count;
}

static void read_tensors(gp_import_file *file, gp_gguf *gguf) {
    for (uint64_t i = 0; i < gguf->tensor_count && gp_file_good(file); i++) {
        gp_gguf_tensor *tensor = &gguf->tensors[i];
        uint64_t place = file->at, length = 0;
        tensor->name = (const char *)take_string(file, &length);
        if (gp_file_good(file) && (length == 0 || length > NAME_BYTES_MAX)) gp_file_damage(file, "name_length", place);
        tensor->name_length = (uint32_t)length;
        read_dimensions(file, tensor);
        tensor->type = gp_file_u32(file);
        tensor->offset = gp_file_u64(file);
        if (!gp_file_good(file)) return;
        tensor->bytes = tensor_bytes(file, tensor, place);
        if (tensor->offset % gguf->alignment != 0) gp_file_damage(file, "tensor_offset", place);
    }
}

/* ---- The whole --------------------------------------------------------------------------------------------------- */

/* As they stand in the file where their offsets are the same. */
static int by_offset(const void *a, const void *b) {
    const gp_gguf_tensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

static void out_of_memory(gp_import_file *file) {
    file->faulty = true;
    gp_diagnose(file->faults, GP_CODE_OUT_OF_MEMORY, file->name);
}

/* The names in a table, none of them twice; frees `names`. */
static void tabulate(gp_import_file *file, gp_name *names, uint64_t count, const char *damage, gp_name_table *table) {
    if (names == NULL || !gp_name_table_make(table, names, (uint32_t)count)) {
        out_of_memory(file);
    } else {
        uint32_t repeat = gp_name_table_repeat(table);
        if (repeat != GP_NAME_NONE)
            gp_file_damage(file, damage, (uint64_t)((const unsigned char *)names[repeat].name - file->bytes));
    }
    free(names);
}

static void tabulate_keys(gp_import_file *file, gp_gguf *gguf) {
    gp_name *names = calloc((size_t)gguf->entry_count + 1, sizeof *names);
    for (uint32_t i = 0; i < gguf->entry_count && names != NULL; i++)
        names[i] = gp_name_of(gguf->entries[i].key, gguf->entries[i].key_length, i);
    tabulate(file, names, gguf->entry_count, "repeated_key", &gguf->keys);
}

static void tabulate_tensors(gp_import_file *file, gp_gguf *gguf) {
    gp_name *names = calloc((size_t)gguf->tensor_count + 1, sizeof *names);
    for (uint32_t i = 0; i < gguf->tensor_count && names != NULL; i++)
        names[i] = gp_name_of(gguf->tensors[i].name, gguf->tensors[i].name_length, i);
    tabulate(file, names, gguf->tensor_count, "repeated_tensor", &gguf->names);
}

static uint64_t place_of(const gp_import_file *file, const gp_gguf_tensor *tensor) {
    return (uint64_t)((const unsigned char *)tensor->name - file->bytes);
}

/* Most files have their tensors in order: those are not moved. */
static void sort_by_offset(gp_gguf *gguf) {
    for (uint64_t i = 1; i < gguf->tensor_count; i++) {
        if (by_offset(&gguf->tensors[i - 1], &gguf->tensors[i]) <= 0) continue;
        qsort(gguf->tensors, (size_t)gguf->tensor_count, sizeof *gguf->tensors, by_offset);
        return;
    }
}

/* No format spends more than 64 bits on a parameter, or less than half a bit. */
static bool is_usual_size(const gp_gguf_tensor *tensor, uint64_t alignment) {
    uint64_t most = gp_add(gp_mul(8, tensor->params), alignment);
    return tensor->bytes <= most && gp_mul(16, tensor->bytes) >= tensor->params;
}

/* No two tensors in one place, none beyond the end. A tensor of an unknown type reaches to the next. */
static void check_tensors(gp_import_file *file, gp_gguf *gguf) {
    gp_gguf_tensor *tensors = gguf->tensors;
    uint64_t count = gguf->tensor_count;
    uint64_t known_end = file->size == GP_SIZE_UNKNOWN ? UINT64_MAX : gp_sub_or_zero(file->size, gguf->data_start);
    for (uint64_t i = 0; i < count; i++) {
        gp_gguf_tensor *tensor = &tensors[i];
        bool last = i + 1 == count;
        uint64_t next = last ? known_end : tensors[i + 1].offset;
        bool guessed = gp_overflowed(tensor->bytes) && !gp_overflowed(next);
        if (guessed) tensor->bytes = gp_sub_or_zero(next, tensor->offset);
        if (guessed && !is_usual_size(tensor, gguf->alignment)) gp_file_damage(file, "tensor_size", place_of(file, tensor));
        uint64_t end = gp_add(tensor->offset, tensor->bytes);
        if (end > next) gp_file_damage(file, last ? "cut_short" : "overlap", place_of(file, tensor));
        if (end > BYTES_MAX) gp_file_damage(file, "tensor_offset", place_of(file, tensor));
    }
}

static uint64_t read_alignment(gp_import_file *file, const gp_gguf *gguf) {
    const gp_gguf_entry *entry = gp_gguf_find(gguf, "general.alignment");
    uint64_t alignment = entry == NULL ? 32 : gp_gguf_whole(entry, 0, 0);
    if (alignment != 0 && (alignment & (alignment - 1)) == 0 && alignment <= UINT32_MAX) return alignment;
    gp_file_damage(file, "alignment", (uint64_t)(entry->bytes - file->bytes));
    return 1;
}

/* Tables for what the header claims, once enough bytes are there to hold it. */
static void *make_table(gp_import_file *file, uint64_t count, uint64_t least_bytes, size_t row_bytes) {
    uint64_t bytes = gp_mul(count, least_bytes);
    bool known = file->size != GP_SIZE_UNKNOWN;
    if (count > GP_IMPORT_ENTRIES_MAX || (known && bytes > file->size - file->at)) {
        gp_file_damage(file, "count", file->at);
        return NULL;
    }
    if (!gp_file_has(file, bytes)) return NULL;
    void *table = calloc((size_t)count + 1, row_bytes);
    if (table == NULL) out_of_memory(file);
    return table;
}

static bool read_version(gp_import_file *file, gp_gguf *gguf) {
    gguf->version = gp_file_u32(file);
    if (!gp_file_good(file)) return false;
    if (gguf->version == 2 || gguf->version == 3) return true;
    bool swapped = gguf->version != 0 && (gguf->version & 0xffff) == 0;
    file->faulty = true;
    gp_diagnostic *row = gp_diagnose(file->faults, swapped ? GP_CODE_GGUF_BIG_ENDIAN : GP_CODE_GGUF_VERSION, file->name);
    if (!swapped) gp_argue_number(row, "value", gguf->version);
    return false;
}

bool gp_gguf_read(gp_import_file *file, gp_gguf *gguf) {
    const uint64_t entry_bytes = 8 + 1 + 4 + 1, tensor_info_bytes = 8 + 1 + 4 + 4 + 8;
    *gguf = (gp_gguf){0};
    file->at = 4;
    if (!read_version(file, gguf)) return false;
    uint64_t tensor_count = gp_file_u64(file), entry_count = gp_file_u64(file);
    if (!gp_file_good(file)) return false;
    gguf->entries = make_table(file, entry_count, entry_bytes, sizeof *gguf->entries);
    if (gguf->entries == NULL) return false;
    gguf->entry_count = entry_count;
    read_entries(file, gguf);
    if (!gp_file_good(file)) return false;
    tabulate_keys(file, gguf);
    gguf->alignment = read_alignment(file, gguf);
    gguf->tensors = make_table(file, tensor_count, tensor_info_bytes, sizeof *gguf->tensors);
    if (gguf->tensors == NULL) return false;
    gguf->tensor_count = tensor_count;
    read_tensors(file, gguf);
    if (!gp_file_good(file)) return false;
    gguf->data_start = gp_mul(gp_div_ceil(file->at, gguf->alignment), gguf->alignment);
    sort_by_offset(gguf);
    tabulate_tensors(file, gguf);
    check_tensors(file, gguf);
    return gp_file_good(file);
}

void gp_gguf_release(gp_gguf *gguf) {
    free(gguf->entries);
    free(gguf->tensors);
    gp_name_table_release(&gguf->keys);
    gp_name_table_release(&gguf->names);
    *gguf = (gp_gguf){0};
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

const gp_gguf_entry *gp_gguf_find(const gp_gguf *gguf, const char *key) {
    uint32_t index = gp_name_table_find(&gguf->keys, key);
    return index == GP_NAME_NONE ? NULL : &gguf->entries[index];
}

bool gp_gguf_is_whole(const gp_gguf_entry *entry) {
    return entry->kind != GP_GGUF_STRING && entry->kind != GP_GGUF_ARRAY && entry->kind != GP_GGUF_F32 &&
           entry->kind != GP_GGUF_F64 && entry->kind != GP_GGUF_BOOL;
}

/* Magnitude of a whole number or a switch; *negative tells its sign. */
static uint64_t magnitude_of(const gp_gguf_entry *entry, uint64_t index, bool *negative) {
    int bytes = kind_bytes[entry->kind];
    uint64_t value = gp_little_endian(entry->bytes + index * (uint64_t)bytes, bytes);
    bool is_signed = entry->kind == GP_GGUF_I8 || entry->kind == GP_GGUF_I16 || entry->kind == GP_GGUF_I32 ||
                     entry->kind == GP_GGUF_I64;
    *negative = is_signed && value >> (8 * bytes - 1) != 0;
    return *negative ? (~value + 1) & (UINT64_MAX >> (64 - 8 * bytes)) : value;
}

double gp_gguf_signed(const gp_gguf_entry *entry, uint64_t index) {
    bool negative = false;
    double magnitude = (double)magnitude_of(entry, index, &negative);
    return negative ? -magnitude : magnitude;
}

uint64_t gp_gguf_whole(const gp_gguf_entry *entry, uint64_t index, uint64_t fallback) {
    bool negative = false;
    if (entry == NULL || index >= entry->count || (!gp_gguf_is_whole(entry) && entry->kind != GP_GGUF_BOOL))
        return fallback;
    uint64_t magnitude = magnitude_of(entry, index, &negative);
    return negative ? fallback : magnitude;
}

void gp_gguf_text(const gp_gguf_entry *entry, char *buffer, size_t size) {
    buffer[0] = '\0';
    if (entry == NULL || entry->is_array || entry->kind != GP_GGUF_STRING) return;
    size_t length = entry->count < 4 * size ? (size_t)entry->count : 4 * size;
    gp_text_copy(buffer, size, (const char *)entry->bytes, length);
}

const gp_gguf_tensor *gp_gguf_tensor_find(const gp_gguf *gguf, const char *name) {
    uint32_t index = gp_name_table_find(&gguf->names, name);
    return index == GP_NAME_NONE ? NULL : &gguf->tensors[index];
}

uint64_t gp_gguf_block_of(const gp_gguf_tensor *tensor) {
    const uint32_t start = sizeof "blk." - 1;
    uint64_t number = 0;
    uint32_t at = start;
    if (tensor->name_length <= start || memcmp(tensor->name, "blk.", start) != 0) return GP_GGUF_BLOCKS_MAX;
    for (; at < tensor->name_length && gp_is_digit(tensor->name[at]) && number < GP_GGUF_BLOCKS_MAX; at++)
        number = number * 10 + (uint64_t)(tensor->name[at] - '0');
    bool named = at > start && at < tensor->name_length && tensor->name[at] == '.';
    bool plain = tensor->name[start] != '0' || at == start + 1;
    return named && plain && number < GP_GGUF_BLOCKS_MAX ? number : GP_GGUF_BLOCKS_MAX;
}

/* Mixes by general.file_type: github.com/ggml-org/llama.cpp include/llama.h, enum llama_ftype. */
static const struct {
    unsigned char file_type;
    const char *name;
} mixes[] = {
    {0, "F32"},      {1, "F16"},      {2, "Q4_0"},    {3, "Q4_1"},    {7, "Q8_0"},    {8, "Q5_0"},    {9, "Q5_1"},
    {10, "Q2_K"},    {11, "Q3_K_S"},  {12, "Q3_K_M"}, {13, "Q3_K_L"}, {14, "Q4_K_S"}, {15, "Q4_K_M"}, {16, "Q5_K_S"},
    {17, "Q5_K_M"},  {18, "Q6_K"},    {19, "IQ2_XXS"}, {20, "IQ2_XS"}, {21, "Q2_K_S"}, {22, "IQ3_XS"}, {23, "IQ3_XXS"},
    {24, "IQ1_S"},   {25, "IQ4_NL"},  {26, "IQ3_S"},  {27, "IQ3_M"},  {28, "IQ2_S"},  {29, "IQ2_M"},  {30, "IQ4_XS"},
    {31, "IQ1_M"},   {32, "BF16"},    {36, "TQ1_0"},  {37, "TQ2_0"},  {38, "MXFP4"},
};

const char *gp_gguf_mix(uint64_t file_type) {
    for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++) {
        if (mixes[i].file_type == file_type) return mixes[i].name;
    }
    return NULL;
}
