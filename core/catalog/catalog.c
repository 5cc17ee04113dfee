#include "catalog/catalog.h"

#include <string.h>

#include "catalog/catalog_data.h"
#include "base/text.h"

int gp_catalog_model_count(void) {
    return gp_data_model_count;
}

static uint16_t number_at(gp_model_column column, int row) {
    return gp_data_models[(int)column * gp_data_model_count + row];
}

static const char *text_at(gp_model_column column, int row) {
    return gp_data_texts + number_at(column, row);
}

/* Of a column of distances. */
static int place_at(gp_model_column column, int row) {
    uint16_t place = 0;
    for (; row >= 0; row--) place = (uint16_t)(place + number_at(column, row));
    return place;
}

bool gp_catalog_model(int index, gp_model_row *row) {
    *row = (gp_model_row){.id = NULL};
    if (index < 0 || index >= gp_data_model_count) return false;
    uint16_t dated = number_at(GP_COLUMN_YEAR_CONFIDENCE, index);
    row->id = gp_data_texts + place_at(GP_COLUMN_ID, index);
    row->family = text_at(GP_COLUMN_FAMILY, index);
    row->model_type = text_at(GP_COLUMN_TYPE, index);
    row->shape = gp_data_shapes + place_at(GP_COLUMN_SHAPE, index);
    row->stored = text_at(GP_COLUMN_STORED, index);
    row->published_active = text_at(GP_COLUMN_ACTIVE, index);
    row->number = index;
    row->release_year = 2000 + dated / 4;
    row->confidence = (gp_confidence)(dated % 4);
    return true;
}

uint64_t gp_catalog_published(int index) {
    return gp_data_published[index];
}

void gp_catalog_shape(const gp_model_row *row, gp_shape *shape) {
    gp_shape_unpack(row->shape, shape);
    shape->model_type = row->model_type;
}

int gp_catalog_gpu_count(void) {
    return gp_data_gpu_count;
}

const gp_gpu_row *gp_catalog_gpu(int index) {
    return index >= 0 && index < gp_data_gpu_count ? &gp_data_gpus[index] : NULL;
}

const gp_gpu_speed *gp_catalog_gpu_speed(const gp_gpu_row *row) {
    return &gp_data_gpu_speeds[row - gp_data_gpus];
}

int gp_catalog_instance_count(void) {
    return gp_data_instance_count;
}

const gp_instance_row *gp_catalog_instance(int index) {
    return index >= 0 && index < gp_data_instance_count ? &gp_data_instances[index] : NULL;
}

int gp_catalog_link_count(void) {
    return gp_data_link_count;
}

const gp_link_row *gp_catalog_link(int index) {
    return index >= 0 && index < gp_data_link_count ? &gp_data_links[index] : NULL;
}

/* By the whole name first: a variant may have a row of its own. */
static int find_model(const gp_name_index *index, const char *name) {
    int row = -1;
    for (int kind = GP_KEY_NAME; kind <= GP_KEY_STEM && row < 0; kind++) {
        char key[GP_KEY_BYTES];
        gp_key_of_model(name, (gp_key_kind)kind, key);
        if (key[0] != '\0') row = gp_name_find(index, key);
    }
    return row;
}

bool gp_catalog_find_model(const char *name, gp_model_row *row) {
    return gp_catalog_model(find_model(&gp_data_model_names, name), row);
}

const gp_gpu_row *gp_catalog_find_gpu(const char *name) {
    char key[GP_KEY_BYTES];
    gp_key_of_gpu(name, GP_KEY_NAME, key);
    return key[0] == '\0' ? NULL : gp_catalog_gpu(gp_name_find(&gp_data_gpu_names, key));
}

const gp_gpu_row *gp_catalog_gpu_of(const gp_gpu_request *gpu) {
    return gpu->resolved ? gpu->row : gp_catalog_find_gpu(gpu->custom ? gpu->like : gpu->name);
}

/* The name without its last word, a variant that is not known ("…-7B-Instrct"), may be a row. */
static int find_shortened(const char *name) {
    char shorter[GP_KEY_BYTES];
    const char *end = strrchr(name, '-');
    if (end == NULL || (size_t)(end - name) >= sizeof shorter) return -1;
    memcpy(shorter, name, (size_t)(end - name));
    shorter[end - name] = '\0';
    return find_model(&gp_data_model_names, shorter);
}

const char *gp_catalog_nearest_model(const char *name) {
    char key[GP_KEY_BYTES];
    gp_key_of_model(name, GP_KEY_STEM, key);
    int row = find_shortened(name);
    if (row < 0) row = gp_name_nearest(&gp_data_model_names, key);
    return row < 0 ? "" : gp_data_texts + place_at(GP_COLUMN_ID, row);
}

const char *gp_catalog_nearest_gpu(const char *name) {
    char key[GP_KEY_BYTES];
    gp_key_of_gpu(name, GP_KEY_NAME, key);
    const gp_gpu_row *row = gp_catalog_gpu(gp_name_nearest(&gp_data_gpu_names, key));
    return row == NULL ? "" : row->name;
}

/* A word that states memory in GB, such as "80", "80gb" or ">=48", and holds for `memory_gb`. */
static bool is_memory(const char *word, size_t length, double memory_gb) {
    size_t at = 0, from;
    double value = 0;
    bool above = word[0] == '>', below = word[0] == '<', equal = !above && !below;
    if (!equal) at++;
    if (!equal && at < length && word[at] == '=') at++, equal = true;
    for (from = at; at < length && gp_is_digit(word[at]) && at - from < 6; at++) value = value * 10 + (word[at] - '0');
    if (at == from) return false;
    bool unit = at == length || gp_contains_folded("gb", 2, word + at, length - at) ||
                gp_contains_folded("gib", 3, word + at, length - at);
    if (!unit) return false;
    return (above && memory_gb > value) || (below && memory_gb < value) || (equal && !(memory_gb < value || memory_gb > value));
}

/* True when each word of `filter` occurs in one of the texts or states the memory; memory_gb 0 = none. */
static bool matches(const char *filter, const char *const *texts, int count, double memory_gb) {
    while (*filter != '\0') {
        size_t space = strspn(filter, " ");
        filter += space;
        size_t length = strcspn(filter, " ");
        bool found = length == 0 || (memory_gb > 0 && is_memory(filter, length, memory_gb));
        for (int i = 0; i < count && !found; i++) {
            found = gp_contains_folded(texts[i], strlen(texts[i]), filter, length);
        }
        if (!found) return false;
        filter += length;
    }
    return true;
}

bool gp_catalog_model_matches(const gp_model_row *row, const char *filter) {
    const char *const texts[] = {row->id, row->family};
    return matches(filter, texts, 2, 0);
}

bool gp_catalog_gpu_matches(const gp_gpu_row *row, const char *filter) {
    const char *const texts[] = {row->name, row->aliases, row->vendor, row->architecture};
    return matches(filter, texts, 4, row->memory_gb_nominal);
}

bool gp_catalog_instance_matches(const gp_instance_row *row, const char *filter) {
    const char *const texts[] = {row->type, row->provider, row->gpu, row->region};
    const gp_gpu_row *gpu = gp_catalog_find_gpu(row->gpu);
    return matches(filter, texts, 4, gpu != NULL ? gpu->memory_gb_nominal : 0);
}

bool gp_catalog_link_matches(const gp_link_row *row, const char *filter) {
    const char *const texts[] = {row->name, row->kind};
    return matches(filter, texts, 2, 0);
}
