#include "files/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_cursor.h"
#include "base/json_scan.h"
#include "base/quantity.h"
#include "base/text.h"

/* An entry is an object of three members, a list of up to eight numbers and one of two. */
enum { VALUES_PER_TENSOR = 24, DIMENSIONS_MAX = 16 };

static const struct {
    const char *type;
    unsigned bits;
} types[] = {
    {"BF16", 16},   {"F16", 16},      {"F32", 32},     {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"U8", 8},      {"I8", 8},
    {"I32", 32},    {"I64", 64},      {"U32", 32},     {"F64", 64},    {"BOOL", 8},    {"F8_E8M0", 8}, {"F4", 4},
    {"F6_E2M3", 6}, {"F6_E3M2", 6},   {"I16", 16},     {"U16", 16},    {"U64", 64},    {"C64", 64},    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
};

unsigned gp_safetensors_bits(const char *type) {
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].type, type) == 0) return types[i].bits;
    }
    return 0;
}

typedef struct {
    const char *name;
    uint64_t start, end;
} tensor_place;

static uint64_t place_of(const gp_import_file *file, const char *at) {
    return (uint64_t)((const unsigned char *)at - file->bytes);
}

static bool key_is(const gp_json_text *key, const char *word) {
    return gp_text_is(word, key->bytes, key->length);
}

/* Checks the JSON between `start` and `end` of the file. */
static bool scan(gp_import_file *file, uint64_t start, uint64_t end, gp_json_cursor *cursor) {
    const char *text = (const char *)file->bytes + start;
    size_t length = (size_t)(end - start), offset = gp_utf8_prefix(text, length);
    gp_code fault = offset < length ? GP_CODE_INVALID_UTF8
                                    : gp_json_scan_file(text, length, VALUES_PER_TENSOR * GP_IMPORT_ENTRIES_MAX, &offset);
    *cursor = (gp_json_cursor){text, text + length};
    if (fault != GP_CODE_COUNT) {
        gp_file_damage(file, fault == GP_CODE_TOO_MANY_VALUES ? "count" : "json", start + offset);
    } else if (gp_json_kind(cursor) != '{') {
        gp_file_damage(file, "json", start);
    }
    return gp_file_good(file);
}

/* ---- Headers ----------------------------------------------------------------------------------------------------- */

static void read_shape(gp_json_cursor *cursor, uint64_t *elements, bool *good) {
    *elements = 1;
    *good = gp_json_kind(cursor) == '[' && gp_json_enter(cursor);
    for (int i = 0; *good && gp_json_element(cursor); i++) {
        uint64_t dimension = 0;
        *good = gp_json_read_whole(cursor, &dimension) && i < DIMENSIONS_MAX;
        *elements = gp_mul(*elements, dimension);
    }
}

static void read_offsets(gp_json_cursor *cursor, tensor_place *place, bool *good) {
    uint64_t values[2] = {0, 0};
    int count = 0;
    *good = gp_json_kind(cursor) == '[' && gp_json_enter(cursor);
    while (*good && gp_json_element(cursor)) {
        *good = count < 2 && gp_json_read_whole(cursor, &values[count]);
        count++;
    }
    *good = *good && count == 2 && values[0] <= values[1] && values[1] <= GP_EXACT_MAX;
    place->start = values[0];
    place->end = values[1];
}

static void add_type(gp_safetensors *sum, const char *type, uint64_t elements, uint64_t bytes) {
    int i = 0;
    while (i < sum->type_count && strcmp(sum->types[i].type, type) != 0) i++;
    if (i == GP_SAFETENSORS_TYPES_MAX) return;
    if (i == sum->type_count) {
        sum->type_count++;
        sum->types[i] = (gp_safetensors_type){.tensors = 0};
        gp_text_copy(sum->types[i].type, sizeof sum->types[i].type, type, strlen(type));
    }
    sum->types[i].tensors++;
    sum->types[i].elements = gp_add(sum->types[i].elements, elements);
    sum->types[i].bytes = gp_add(sum->types[i].bytes, bytes);
}

/* One tensor's entry; its members may come in any order. */
static void read_entry(gp_import_file *file, gp_json_cursor *cursor, gp_safetensors *sum, tensor_place *place) {
    gp_json_text key, type = {NULL, 0};
    uint64_t elements = 0, start = place_of(file, cursor->at);
    bool shaped = false, placed = false, typed = false;
    if (gp_json_kind(cursor) != '{') gp_file_damage(file, "tensor_entry", start);
    if (!gp_json_enter(cursor)) return;
    while (gp_file_good(file) && gp_json_member(cursor, &key)) {
        if (key_is(&key, "dtype")) {
            typed = gp_json_read_text(cursor, &type) && type.length < sizeof sum->types[0].type;
        } else if (key_is(&key, "shape")) {
            read_shape(cursor, &elements, &shaped);
        } else if (key_is(&key, "data_offsets")) {
            read_offsets(cursor, place, &placed);
        } else {
            gp_json_skip(cursor);
        }
        if ((key_is(&key, "shape") && !shaped) || (key_is(&key, "data_offsets") && !placed)) break;
    }
    if (!shaped || !placed || !typed) {
        gp_file_damage(file, "tensor_entry", start);
        return;
    }
    char name[sizeof sum->types[0].type] = "";
    memcpy(name, type.bytes, type.length);
    uint64_t bits = gp_safetensors_bits(name), bytes = place->end - place->start;
    if (bits != 0 && gp_div_ceil(gp_mul(elements, bits), 8) != bytes) gp_file_damage(file, "tensor_size", start);
    sum->tensors++;
    sum->bytes = gp_add(sum->bytes, bytes);
    add_type(sum, name, elements, bytes);
}

static int by_place(const void *a, const void *b) {
    const tensor_place *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Most files have their tensors in order: those are not moved. */
static void sort_by_place(tensor_place *places, uint64_t count) {
    for (uint64_t i = 1; i < count; i++) {
        if (by_place(&places[i - 1], &places[i]) <= 0) continue;
        qsort(places, (size_t)count, sizeof *places, by_place);
        return;
    }
}

/* The format allows no holes and no overlaps: each tensor starts where the one before ends. */
static void check_places(gp_import_file *file, tensor_place *places, uint64_t count, uint64_t data_start) {
    sort_by_place(places, count);
    uint64_t end = 0;
    for (uint64_t i = 0; i < count; i++) {
        const char *damage = places[i].start < end ? "overlap" : "hole";
        if (places[i].start != end) gp_file_damage(file, damage, place_of(file, places[i].name));
        end = places[i].end;
    }
    uint64_t whole = gp_add(data_start, end);
    if (file->size != GP_SIZE_UNKNOWN && whole > file->size) gp_file_damage(file, "cut_short", file->size);
    if (file->size != GP_SIZE_UNKNOWN && whole < file->size) gp_file_damage(file, "trailing", whole);
}

/* No name twice among `names` from the first of this file. */
static void check_names(gp_import_file *file, const gp_name_list *names, uint32_t first) {
    gp_name_table table = {.count = 0};
    if (!gp_name_table_make(&table, names->names + first, names->count - first)) {
        gp_file_fault(file, GP_CODE_OUT_OF_MEMORY, "");
    } else {
        uint32_t repeat = gp_name_table_repeat(&table);
        if (repeat != GP_NAME_NONE) gp_file_damage(file, "repeated_tensor", place_of(file, names->names[repeat].name));
    }
    gp_name_table_release(&table);
}

/* Texts under keys. */
static void read_notes(gp_import_file *file, gp_json_cursor *cursor) {
    uint64_t start = place_of(file, cursor->at);
    gp_json_text key, note;
    if (gp_json_kind(cursor) != '{') gp_file_damage(file, "metadata", start);
    else gp_json_enter(cursor);
    while (gp_file_good(file) && gp_json_member(cursor, &key))
        if (!gp_json_read_text(cursor, &note)) gp_file_damage(file, "metadata", start);
}

/* The tensors of a header, in a table no longer than its text allows. */
static void read_entries(gp_import_file *file, gp_json_cursor *cursor, gp_safetensors *sum, gp_name_list *names) {
    const size_t least_entry_bytes = 40;
    uint64_t header_end = place_of(file, cursor->end);
    const uint32_t first = names->count;
    uint64_t most = (uint64_t)(cursor->end - cursor->at) / least_entry_bytes + 1, count = 0;
    if (most > GP_IMPORT_ENTRIES_MAX) most = GP_IMPORT_ENTRIES_MAX;
    tensor_place *places = calloc((size_t)most, sizeof *places);
    if (places == NULL) {
        file->faulty = true;
        gp_diagnose(file->faults, GP_CODE_OUT_OF_MEMORY, file->name);
        return;
    }
    gp_json_text key;
    gp_json_enter(cursor);
    while (gp_file_good(file) && gp_json_member(cursor, &key)) {
        if (key_is(&key, "__metadata__")) {
            read_notes(file, cursor);
        } else if (count == most) {
            gp_file_damage(file, "count", place_of(file, key.bytes));
        } else {
            places[count].name = key.bytes;
            if (!gp_name_list_add(names, key.bytes, (uint32_t)key.length)) gp_file_fault(file, GP_CODE_OUT_OF_MEMORY, "");
            read_entry(file, cursor, sum, &places[count++]);
        }
    }
    if (gp_file_good(file) && count == 0) gp_file_fault(file, GP_CODE_FILE_EMPTY, "");
    if (gp_file_good(file)) check_names(file, names, first);
    if (gp_file_good(file)) check_places(file, places, count, header_end);
    free(places);
}

bool gp_safetensors_read(gp_import_file *file, gp_safetensors *sum, gp_name_list *names) {
    file->at = 0;
    uint64_t length = gp_file_u64(file);
    /* The shortest header is "{}"; what was taken for one starts with a brace in any case. */
    if (length < 2 || (file->size != GP_SIZE_UNKNOWN && length > file->size - 8)) gp_file_damage(file, "header_length", 0);
    if (!gp_file_has(file, length)) return false;
    gp_json_cursor cursor;
    if (scan(file, 8, 8 + length, &cursor)) read_entries(file, &cursor, sum, names);
    return gp_file_good(file);
}

/* ---- Indexes ----------------------------------------------------------------------------------------------------- */

/* A whole number of at least 1; an error row else, unless it is null. */
static void read_total(gp_import_file *file, gp_json_cursor *cursor, const char *path, uint64_t *total) {
    const double most = (double)GP_EXACT_MAX;
    double value = 0;
    bool null = gp_json_kind(cursor) == 'n';
    if (!gp_json_read_number(cursor, &value)) {
        if (!null) gp_argue_text(gp_file_fault(file, GP_CODE_WRONG_TYPE, path), "expected", "integer");
    } else if (!(value >= 1 && value <= most)) {
        gp_diagnostic *row = gp_file_fault(file, GP_CODE_OUT_OF_RANGE, path);
        gp_argue_number(row, "value", value);
        gp_argue_number(row, "min", 1);
        gp_argue_number(row, "max", most);
    } else if (floor(value) != value) {
        gp_argue_number(gp_file_fault(file, GP_CODE_NOT_A_WHOLE_NUMBER, path), "value", value);
    } else {
        *total = (uint64_t)value;
    }
}

static void read_metadata(gp_import_file *file, gp_json_cursor *cursor, gp_safetensors *index) {
    gp_json_text key;
    if (gp_json_kind(cursor) != '{') {
        if (gp_json_kind(cursor) != 'n')
            gp_argue_text(gp_file_fault(file, GP_CODE_WRONG_TYPE, "metadata"), "expected", "object");
        gp_json_skip(cursor);
        return;
    }
    gp_json_enter(cursor);
    while (gp_json_member(cursor, &key)) {
        if (key_is(&key, "total_size")) read_total(file, cursor, "metadata.total_size", &index->bytes);
        else gp_json_skip(cursor);
    }
}

static bool read_map(gp_json_cursor *cursor, gp_safetensors *index) {
    gp_json_text key, file;
    if (gp_json_kind(cursor) != '{') return false;
    gp_json_enter(cursor);
    while (gp_json_member(cursor, &key)) {
        if (!gp_json_read_text(cursor, &file)) return false;
        index->tensors++;
    }
    return true;
}

bool gp_safetensors_read_index(gp_import_file *file, size_t start, gp_safetensors *index) {
    const char *text = (const char *)file->bytes;
    gp_json_cursor cursor = {text + start, text + file->length};
    gp_json_text key;
    *index = (gp_safetensors){.tensors = 0};
    gp_json_enter(&cursor);
    while (gp_file_good(file) && gp_json_member(&cursor, &key)) {
        if (key_is(&key, "metadata")) {
            read_metadata(file, &cursor, index);
        } else if (!key_is(&key, "weight_map")) {
            gp_json_skip(&cursor);
        } else if (!read_map(&cursor, index)) {
            gp_file_damage(file, "weight_map", place_of(file, key.bytes));
        }
    }
    if (gp_file_good(file) && index->tensors == 0) gp_file_fault(file, GP_CODE_FILE_EMPTY, "");
    return gp_file_good(file);
}
