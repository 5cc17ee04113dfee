#include <stddef.h>
#include <string.h>

#include "report.h"
#include "text.h"

/* Words of a text that are separated by '|', as a list. */
static void write_words(gp_writer *writer, const char *key, const char *words) {
    gp_write_open(writer, key, '[');
    while (words[0] != '\0') {
        size_t length = strcspn(words, "|");
        gp_write_text_part(writer, NULL, words, length);
        words += length;
        if (words[0] == '|') words++;
    }
    gp_write_close(writer, ']');
}

/* ---- Rows of the catalogue --------------------------------------------------------------------------------------- */

/* What a member of a row is, and how it is told. All but TEXT and SWITCH are left out when they are unknown. */
typedef enum { TEXT, KNOWN_TEXT, WORDS, WHOLE, REAL, BYTES, SWITCH, CONFIDENCE } form;

typedef struct {
    const char *key;
    form form;
    size_t offset;
} member;

#define MEMBER(key, form, field) {key, form, offsetof(ROW, field)}
#define COUNT(members) (sizeof(members) / sizeof((members)[0]))

#define ROW gp_model_row
static const member model_names[] = {
    MEMBER("id", TEXT, id), MEMBER("family", KNOWN_TEXT, family), MEMBER("model_type", KNOWN_TEXT, model_type),
};
static const member model_origin[] = {
    MEMBER("year", WHOLE, release_year), MEMBER("source", TEXT, source), MEMBER("confidence", CONFIDENCE, confidence),
};
#undef ROW

#define ROW gp_gpu_row
static const member gpu_members[] = {
    MEMBER("name", TEXT, name), MEMBER("aliases", WORDS, aliases), MEMBER("vendor", TEXT, vendor),
    MEMBER("architecture", KNOWN_TEXT, architecture), MEMBER("nominal_gb", REAL, memory_gb_nominal),
    MEMBER("memory_bytes", BYTES, memory_bytes), MEMBER("bandwidth_bytes_per_s", REAL, bandwidth_bytes_per_s),
    MEMBER("bf16", SWITCH, bf16), MEMBER("fp8", SWITCH, fp8), MEMBER("flash_attention_2", SWITCH, flash_attention_2),
    MEMBER("year", WHOLE, release_year), MEMBER("source", TEXT, source),
    MEMBER("memory_source", KNOWN_TEXT, memory_source), MEMBER("confidence", CONFIDENCE, confidence),
};
#undef ROW

#define ROW gp_instance_row
static const member instance_members[] = {
    MEMBER("type", TEXT, type), MEMBER("provider", TEXT, provider), MEMBER("gpu", TEXT, gpu),
    MEMBER("gpus", WHOLE, gpus), MEMBER("vcpus", WHOLE, vcpus), MEMBER("ram_gib", REAL, ram_gib),
    MEMBER("network_bytes_per_s", REAL, network_bytes_per_s), MEMBER("usd_per_hour", REAL, usd_per_hour),
    MEMBER("date", KNOWN_TEXT, date), MEMBER("region", KNOWN_TEXT, region), MEMBER("source", TEXT, source),
    MEMBER("confidence", CONFIDENCE, confidence),
};
#undef ROW

#define ROW gp_link_row
static const member link_members[] = {
    MEMBER("name", TEXT, name), MEMBER("kind", TEXT, kind), MEMBER("bytes_per_s", REAL, bytes_per_s),
    MEMBER("note", KNOWN_TEXT, note), MEMBER("source", TEXT, source), MEMBER("confidence", CONFIDENCE, confidence),
};
#undef ROW

static void write_member(gp_writer *writer, const member *at, const void *place) {
    static const char *const confidences[] = {"low", "medium", "high"};
    switch (at->form) {
    case TEXT: gp_write_text(writer, at->key, *(const char *const *)place); break;
    case KNOWN_TEXT: gp_write_known_text(writer, at->key, *(const char *const *)place); break;
    case WORDS: write_words(writer, at->key, *(const char *const *)place); break;
    case WHOLE: gp_write_known(writer, at->key, *(const int *)place); break;
    case REAL: gp_write_known(writer, at->key, *(const double *)place); break;
    case BYTES: gp_write_known(writer, at->key, (double)*(const uint64_t *)place); break;
    case SWITCH: gp_write_switch(writer, at->key, *(const bool *)place); break;
    case CONFIDENCE: gp_write_text(writer, at->key, confidences[*(const gp_confidence *)place]); break;
    }
}

static void write_members(gp_writer *writer, const void *row, const member *members, size_t count) {
    for (size_t i = 0; i < count; i++) write_member(writer, &members[i], (const char *)row + members[i].offset);
}

static void write_row(gp_writer *writer, const void *row, const member *members, size_t count) {
    gp_write_open(writer, NULL, '{');
    write_members(writer, row, members, count);
    gp_write_close(writer, '}');
}

static void write_model_row(gp_writer *writer, const gp_model_row *row) {
    static const gp_job plain;
    gp_model model;
    gp_catalog_shape(row, &model.shape);
    gp_model_count(&plain, &model);
    gp_write_open(writer, NULL, '{');
    write_members(writer, row, model_names, COUNT(model_names));
    gp_write_bytes(writer, "params", model.total_params);
    if (model.expert_params > 0) gp_write_bytes(writer, "active_params", model.active_params);
    gp_report_shape(writer, &model.shape);
    gp_write_known(writer, "max_context", (double)model.shape.max_context);
    write_members(writer, row, model_origin, COUNT(model_origin));
    gp_write_close(writer, '}');
}

static void write_models(gp_writer *writer, const char *filter) {
    gp_write_open(writer, "models", '[');
    gp_model_row row;
    for (int i = 0; gp_catalog_model(i, &row); i++)
        if (gp_catalog_model_matches(&row, filter)) write_model_row(writer, &row);
    gp_write_close(writer, ']');
}

/* The other tables: rows that match the filter. */
#define TABLE(table, all) \
    static void write_##table##s(gp_writer *writer, const char *filter) { \
        gp_write_open(writer, #table "s", '['); \
        for (int i = 0; i < gp_catalog_##table##_count(); i++) { \
            const gp_##table##_row *row = gp_catalog_##table(i); \
            if (gp_catalog_##table##_matches(row, filter)) write_row(writer, row, all, COUNT(all)); \
        } \
        gp_write_close(writer, ']'); \
    }
TABLE(gpu, gpu_members)
TABLE(instance, instance_members)
TABLE(link, link_members)
#undef TABLE

/* ---- Fields and formulas ----------------------------------------------------------------------------------------- */

/* A default as the job's JSON has it. */
static void write_default(gp_writer *writer, const gp_field_row *row) {
    bool word = strcmp(row->initial, "auto") == 0 || strcmp(row->initial, "max") == 0;
    bool plain = row->kind == GP_KIND_WHOLE || row->kind == GP_KIND_REAL || row->kind == GP_KIND_SWITCH;
    if (row->initial[0] == '\0') return;
    if (plain && !word)
        gp_write_raw(writer, "default", row->initial);
    else
        gp_write_text(writer, "default", row->initial);
}

static void write_field(gp_writer *writer, const gp_field_row *row) {
    static const char *const kinds[] = {"whole", "real", "switch", "choice", "open", "text"};
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, "path", row->path);
    gp_write_text(writer, "kind", kinds[row->kind]);
    if (row->kind == GP_KIND_WHOLE || row->kind == GP_KIND_REAL) {
        gp_write_number(writer, "min", row->min);
        gp_write_number(writer, "max", row->max);
    }
    gp_write_switch(writer, "auto", (row->solve & GP_SOLVE_AUTO) != 0);
    gp_write_switch(writer, "max_allowed", (row->solve & GP_SOLVE_MAX) != 0);
    gp_write_open(writer, "tasks", '[');
    for (int64_t task = 0; task < GP_TASK_COUNT; task++) {
        int length = 0;
        const char *name = gp_choice_text(GP_FIELD_TASK, task, &length);
        if ((row->tasks & (1 << task)) != 0) gp_write_text_part(writer, NULL, name, (size_t)length);
    }
    gp_write_close(writer, ']');
    write_default(writer, row);
    gp_write_known_text(writer, "unit", row->unit);
    write_words(writer, "choices", row->choices);
    gp_write_close(writer, '}');
}

/* An empty filter wants everything. */
static bool is_wanted(const char *name, const char *filter) {
    return filter[0] == '\0' || gp_contains_folded(name, strlen(name), filter, strlen(filter));
}

static void write_fields(gp_writer *writer, const char *filter) {
    gp_write_open(writer, "fields", '[');
    for (int field = 0; field < GP_FIELD_TOTAL; field++) {
        const gp_field_row *row = gp_field_info((gp_field)field);
        if (is_wanted(row->path, filter)) write_field(writer, row);
    }
    gp_write_close(writer, ']');
}

static void write_formula(gp_writer *writer, const gp_formula *formula) {
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, "id", formula->id);
    gp_write_text(writer, "expression", formula->expression);
    gp_write_text(writer, "source", formula->source);
    gp_write_close(writer, '}');
}

static void write_formulas(gp_writer *writer, const char *filter) {
    gp_write_open(writer, "formulas", '[');
    for (int i = 0; gp_formula_at(i) != NULL; i++) {
        const gp_formula *formula = gp_formula_at(i);
        if (is_wanted(formula->id, filter)) write_formula(writer, formula);
    }
    gp_write_close(writer, ']');
}

bool gp_report_catalog(gp_writer *writer, const char *kind, const char *filter) {
    static const struct {
        const char *kind;
        void (*write)(gp_writer *writer, const char *filter);
    } tables[] = {{"models", write_models}, {"gpus", write_gpus}, {"instances", write_instances},
                  {"links", write_links}, {"fields", write_fields}, {"formulas", write_formulas}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(tables[i].kind, kind) != 0) continue;
        tables[i].write(writer, filter);
        return true;
    }
    return false;
}

static bool begins_with_parts(const char *id, const char *parts) {
    size_t length = strlen(parts);
    return strncmp(id, parts, length) == 0 && (id[length] == '\0' || id[length] == '.');
}

/* True when `id` is the formula's, or a part of it that names an item: "kv_cache" of "kv_cache.blocks" and of
 * "textbook.kv_cache". */
static bool is_about(const gp_formula *formula, const char *id) {
    const char *dot = strchr(formula->id, '.');
    return begins_with_parts(formula->id, id) || (dot != NULL && begins_with_parts(dot + 1, id));
}

bool gp_report_explain(gp_writer *writer, const char *id) {
    bool found = false;
    for (int i = 0; gp_formula_at(i) != NULL && !found; i++) found = is_about(gp_formula_at(i), id);
    if (!found) return false;
    gp_write_open(writer, "formulas", '[');
    for (int i = 0; gp_formula_at(i) != NULL; i++)
        if (is_about(gp_formula_at(i), id)) write_formula(writer, gp_formula_at(i));
    gp_write_close(writer, ']');
    return true;
}
