#include <string.h>

#include "report.h"
#include "text.h"

static const char *confidence_key(gp_confidence confidence) {
    static const char *const keys[] = {"low", "medium", "high"};
    return keys[confidence];
}

static void write_params(gp_writer *writer, const gp_model *model) {
    gp_write_bytes(writer, "params", model->total_params);
    if (model->expert_params > 0) gp_write_bytes(writer, "active_params", model->active_params);
}

static void write_model_row(gp_writer *writer, const gp_model_row *row) {
    static const gp_job plain;
    gp_model model;
    gp_catalog_shape(row, &model.shape);
    gp_model_count(&plain, &model);
    const gp_shape *shape = &model.shape;
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, "id", row->id);
    gp_write_known_text(writer, "family", row->family);
    gp_write_known_text(writer, "model_type", row->model_type);
    write_params(writer, &model);
    gp_report_shape(writer, shape);
    gp_write_known(writer, "max_context", (double)shape->max_context);
    gp_write_known(writer, "year", row->release_year);
    gp_write_text(writer, "source", row->source);
    gp_write_text(writer, "confidence", confidence_key(row->confidence));
    gp_write_close(writer, '}');
}

static void write_models(gp_writer *writer, const char *filter) {
    gp_write_open(writer, "models", '[');
    for (int i = 0; i < gp_catalog_model_count(); i++)
        if (gp_catalog_model_matches(gp_catalog_model(i), filter)) write_model_row(writer, gp_catalog_model(i));
    gp_write_close(writer, ']');
}

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

static void write_gpu_row(gp_writer *writer, const gp_gpu_row *row) {
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, "name", row->name);
    write_words(writer, "aliases", row->aliases);
    gp_write_text(writer, "vendor", row->vendor);
    gp_write_known_text(writer, "architecture", row->architecture);
    gp_write_known(writer, "nominal_gb", row->memory_gb_nominal);
    gp_write_known(writer, "memory_bytes", (double)row->memory_bytes);
    gp_write_known(writer, "bandwidth_bytes_per_s", row->bandwidth_bytes_per_s);
    gp_write_switch(writer, "bf16", row->bf16);
    gp_write_switch(writer, "fp8", row->fp8);
    gp_write_switch(writer, "flash_attention_2", row->flash_attention_2);
    gp_write_known(writer, "year", row->release_year);
    gp_write_text(writer, "source", row->source);
    gp_write_known_text(writer, "memory_source", row->memory_source);
    gp_write_text(writer, "confidence", confidence_key(row->confidence));
    gp_write_close(writer, '}');
}

static void write_gpus(gp_writer *writer, const char *filter) {
    gp_write_open(writer, "gpus", '[');
    for (int i = 0; i < gp_catalog_gpu_count(); i++)
        if (gp_catalog_gpu_matches(gp_catalog_gpu(i), filter)) write_gpu_row(writer, gp_catalog_gpu(i));
    gp_write_close(writer, ']');
}

static void write_instance_row(gp_writer *writer, const gp_instance_row *row) {
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, "type", row->type);
    gp_write_text(writer, "provider", row->provider);
    gp_write_text(writer, "gpu", row->gpu);
    gp_write_whole(writer, "gpus", row->gpus);
    gp_write_known(writer, "vcpus", row->vcpus);
    gp_write_known(writer, "ram_gib", row->ram_gib);
    gp_write_known(writer, "network_bytes_per_s", row->network_bytes_per_s);
    gp_write_known(writer, "usd_per_hour", row->usd_per_hour);
    gp_write_known_text(writer, "date", row->date);
    gp_write_known_text(writer, "region", row->region);
    gp_write_text(writer, "source", row->source);
    gp_write_text(writer, "confidence", confidence_key(row->confidence));
    gp_write_close(writer, '}');
}

static void write_instances(gp_writer *writer, const char *filter) {
    gp_write_open(writer, "instances", '[');
    for (int i = 0; i < gp_catalog_instance_count(); i++) {
        const gp_instance_row *row = gp_catalog_instance(i);
        if (gp_catalog_instance_matches(row, filter)) write_instance_row(writer, row);
    }
    gp_write_close(writer, ']');
}

static void write_links(gp_writer *writer, const char *filter) {
    gp_write_open(writer, "links", '[');
    for (int i = 0; i < gp_catalog_link_count(); i++) {
        const gp_link_row *row = gp_catalog_link(i);
        if (!gp_catalog_link_matches(row, filter)) continue;
        gp_write_open(writer, NULL, '{');
        gp_write_text(writer, "name", row->name);
        gp_write_text(writer, "kind", row->kind);
        gp_write_number(writer, "bytes_per_s", row->bytes_per_s);
        gp_write_known_text(writer, "note", row->note);
        gp_write_text(writer, "source", row->source);
        gp_write_text(writer, "confidence", confidence_key(row->confidence));
        gp_write_close(writer, '}');
    }
    gp_write_close(writer, ']');
}

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
