#include <string.h>

#include "report/report.h"
#include "report/report_rows.h"
#include "base/text.h"

/* ---- Rows of the catalogue --------------------------------------------------------------------------------------- */

#define ROW gp_model_row
static const gp_row_member model_names[] = {
    GP_MEMBER("id", TEXT, id), GP_MEMBER("family", KNOWN_TEXT, family), GP_MEMBER("model_type", KNOWN_TEXT, model_type),
    GP_MEMBER("stored", KNOWN_TEXT, stored),
};
static const gp_row_member model_year[] = {GP_MEMBER("year", WHOLE, release_year)};
static const gp_row_member model_confidence[] = {GP_MEMBER("confidence", CONFIDENCE, confidence)};
#undef ROW

#define ROW gp_gpu_row
static const gp_row_member gpu_members[] = {
    GP_MEMBER("name", TEXT, name), GP_MEMBER("aliases", WORDS, aliases), GP_MEMBER("vendor", TEXT, vendor),
    GP_MEMBER("architecture", KNOWN_TEXT, architecture), GP_MEMBER("nominal_gb", REAL, memory_gb_nominal),
    GP_MEMBER("memory_bytes", BYTES, memory_bytes), GP_MEMBER("bandwidth_bytes_per_s", REAL, bandwidth_bytes_per_s),
    GP_MEMBER("bf16", SWITCH, bf16), GP_MEMBER("fp8", SWITCH, fp8), GP_MEMBER("flash_attention_2", SWITCH, flash_attention_2),
    GP_MEMBER("year", WHOLE, release_year),
};
static const gp_row_member gpu_confidence[] = {GP_MEMBER("confidence", CONFIDENCE, confidence)};
#undef ROW

static void write_model_row(gp_writer *writer, const gp_model_row *row, gp_detail detail) {
    gp_model model;
    gp_catalog_shape(row, &model.shape);
    gp_model_count(NULL, &model);
    gp_write_open(writer, NULL, '{');
    gp_report_members(writer, row, model_names, GP_COUNT(model_names));
    gp_write_bytes(writer, "params", model.total_params);
    if (model.expert_params > 0) gp_write_bytes(writer, "active_params", model.active_params);
    gp_report_shape(writer, &model.shape);
    gp_write_known(writer, "max_context", (double)model.shape.max_context);
    gp_report_members(writer, row, model_year, GP_COUNT(model_year));
    if (gp_tells_texts(detail)) gp_write_text(writer, "source", gp_catalog_model_source(row));
    gp_report_members(writer, row, model_confidence, GP_COUNT(model_confidence));
    gp_write_close(writer, '}');
}

static void write_models(gp_writer *writer, const char *filter, gp_detail detail) {
    gp_write_open(writer, "models", '[');
    gp_model_row row;
    for (int i = 0; gp_catalog_model(i, &row); i++)
        if (gp_catalog_model_matches(&row, filter)) write_model_row(writer, &row, detail);
    gp_write_close(writer, ']');
}

static void write_gpu_row(gp_writer *writer, const gp_gpu_row *row, gp_detail detail) {
    gp_write_open(writer, NULL, '{');
    gp_report_members(writer, row, gpu_members, GP_COUNT(gpu_members));
    if (gp_tells_texts(detail)) {
        gp_write_text(writer, "source", gp_catalog_gpu_source(row));
        gp_write_known_text(writer, "memory_source", gp_catalog_gpu_memory_source(row));
    }
    gp_report_members(writer, row, gpu_confidence, GP_COUNT(gpu_confidence));
    gp_write_close(writer, '}');
}

static void write_gpus(gp_writer *writer, const char *filter, gp_detail detail) {
    gp_write_open(writer, "gpus", '[');
    for (int i = 0; i < gp_catalog_gpu_count(); i++) {
        const gp_gpu_row *row = gp_catalog_gpu(i);
        if (gp_catalog_gpu_matches(row, filter)) write_gpu_row(writer, row, detail);
    }
    gp_write_close(writer, ']');
}

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

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
    gp_report_words(writer, "choices", row->choices);
    gp_write_close(writer, '}');
}

static void write_fields(gp_writer *writer, const char *filter, gp_detail detail) {
    (void)detail; /* The texts of fields are the languages'. */
    gp_write_open(writer, "fields", '[');
    for (int field = 0; field < GP_FIELD_TOTAL; field++) {
        const gp_field_row *row = gp_field_info((gp_field)field);
        if (gp_contains_folded(row->path, strlen(row->path), filter, strlen(filter))) write_field(writer, row);
    }
    gp_write_close(writer, ']');
}

bool gp_report_catalog(gp_writer *writer, const char *kind, const char *filter, gp_detail detail) {
    static const struct {
        const char *kind;
        void (*write)(gp_writer *writer, const char *filter, gp_detail detail);
    } tables[] = {{"models", write_models}, {"gpus", write_gpus}, {"fields", write_fields}};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(tables[i].kind, kind) != 0) continue;
        tables[i].write(writer, filter, detail);
        return true;
    }
    return gp_report_reference(writer, kind, filter);
}
