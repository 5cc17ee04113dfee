#include "files/name_table.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio */
    hash = (hash ^ word) * odd;
    return hash ^ (hash >> 32);
}

static uint64_t hash_of(const char *name, uint32_t length) {
    uint64_t hash = length, word;
    uint32_t at = 0;
    for (; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, name + at, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    if (at < length) memcpy(&word, name + at, length - at);
    return mix(hash, word);
}

gp_name gp_name_of(const char *name, uint32_t length, uint32_t index) {
    return (gp_name){name, length, index, hash_of(name, length)};
}

bool gp_name_list_add(gp_name_list *list, const char *name, uint32_t length) {
    const uint32_t first_room = 1024;
    if (list->count == list->room) {
        uint32_t room = list->room == 0 ? first_room : 2 * list->room;
        gp_name *names = realloc(list->names, room * sizeof *names);
        if (names == NULL) return false;
        list->names = names;
        list->room = room;
    }
    list->names[list->count] = gp_name_of(name, length, list->count);
    list->count++;
    return true;
}

void gp_name_list_release(gp_name_list *list) {
    free(list->names);
    *list = (gp_name_list){.count = 0};
}

static int compare_names(const gp_name *a, const gp_name *b) {
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    if (a->length != b->length) return a->length < b->length ? -1 : 1;
    return memcmp(a->name, b->name, a->length);
}

static int by_name(const void *a, const void *b) {
    const gp_name *x = a, *y = b;
    int order = compare_names(x, y);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

static uint32_t bucket_of(const gp_name_table *table, const gp_name *name) {
    return (uint32_t)(name->hash & (table->bucket_count - 1));
}

bool gp_name_table_make(gp_name_table *table, const gp_name *names, uint32_t count) {
    *table = (gp_name_table){.count = count, .bucket_count = 1};
    while (table->bucket_count < count) table->bucket_count *= 2;
    table->names = malloc(((size_t)count + 1) * sizeof *table->names);
    table->starts = calloc((size_t)table->bucket_count + 1, sizeof *table->starts);
    if (table->names == NULL || table->starts == NULL) return false;
    for (uint32_t i = 0; i < count; i++) table->starts[bucket_of(table, &names[i])]++;
    uint32_t end = 0;
    for (uint32_t i = 0; i <= table->bucket_count; i++) table->starts[i] = end += table->starts[i];
    /* From its end each bucket is filled to its start. */
    for (uint32_t i = count; i-- > 0;) table->names[--table->starts[bucket_of(table, &names[i])]] = names[i];
    for (uint32_t i = 0; i < table->bucket_count; i++) {
        uint32_t held = table->starts[i + 1] - table->starts[i];
        if (held > 1) qsort(table->names + table->starts[i], held, sizeof *table->names, by_name);
    }
    return true;
}

void gp_name_table_release(gp_name_table *table) {
    free(table->names);
    free(table->starts);
    *table = (gp_name_table){.count = 0};
}

uint32_t gp_name_table_find(const gp_name_table *table, const char *name) {
    if (table->count == 0) return GP_NAME_NONE;
    const gp_name wanted = gp_name_of(name, (uint32_t)strlen(name), 0);
    uint32_t bucket = bucket_of(table, &wanted), low = table->starts[bucket], high = table->starts[bucket + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare_names(&table->names[middle], &wanted);
        if (order == 0) return table->names[middle].index;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return GP_NAME_NONE;
}

uint32_t gp_name_table_repeat(const gp_name_table *table) {
    uint32_t least = GP_NAME_NONE;
    for (uint32_t i = 1; i < table->count; i++) {
        const gp_name *name = &table->names[i];
        if (compare_names(name - 1, name) == 0 && name->index < least) least = name->index;
    }
    return least;
}
