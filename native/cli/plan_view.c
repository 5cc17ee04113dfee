#include "plan_view.h"

#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "columns.h"
#include "json.h"
#include "table.h"

void gp_view_heading(gp_buffer *buffer, const gp_view *view, const char *key) {
    gp_buffer_text(buffer, "\n");
    gp_styled(buffer, view, GP_STRONG, gp_message(view->language, key));
    gp_buffer_text(buffer, "\n");
}

/* Appends a message as wrapped lines. */
static void paragraph(gp_buffer *buffer, const gp_view *view, gp_style style, const char *key, const cJSON *arguments) {
    gp_buffer text = {0};
    gp_view_message(&text, view, key, "", arguments);
    gp_style_start(buffer, view, style);
    gp_wrap(buffer, gp_buffer_string(&text), 0, 0, view->width);
    gp_style_end(buffer, view, style);
    gp_buffer_text(buffer, "\n");
    gp_buffer_release(&text);
}

gp_style gp_verdict_style(const char *verdict) {
    if (strcmp(verdict, "unknown") == 0) return GP_PLAIN;
    return strcmp(verdict, "fits") == 0 ? GP_GOOD : strcmp(verdict, "tight") == 0 ? GP_CAREFUL : GP_BAD;
}

static void verdict(gp_buffer *buffer, const gp_view *view, const cJSON *report) {
    const char *word = gp_json_text(report, "verdict");
    char key[64];
    snprintf(key, sizeof key, "verdict.%s.sentence", word);
    const gp_style style = gp_verdict_style(word);
    const cJSON *binding = gp_json_at(report, "binding");
    paragraph(buffer, view, style, key, binding);
    paragraph(buffer, view, GP_PLAIN, "cli.plan.range", gp_json_at(report, "memory"));
    if (gp_json_has(binding, "item")) paragraph(buffer, view, GP_PLAIN, "cli.plan.binding", binding);
}

/* Label of the last part of a path, as `solved` and `parallel` name fields. */
static const char *label_of(const gp_view *view, const char *name) {
    static const char *const parents[] = {"train", "infer", "hardware", "model"};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        char key[128];
        snprintf(key, sizeof key, "field.%s.%s", parents[i], name);
        const char *label = gp_message_find(view->language, key);
        if (label) return label;
    }
    return name;
}

/* A value of the field that ends in a name: choices in words. */
static void field_value(gp_buffer *buffer, const gp_view *view, const cJSON *value) {
    char path[128];
    snprintf(path, sizeof path, "train.%s", value->string);
    gp_view_value(buffer, view, path, value);
}

static void row(gp_table *table, const gp_view *view, const char *key) {
    gp_table_row(table);
    gp_styled(gp_table_cell(table, 0), view, GP_DIM, gp_message(view->language, key));
}

static void model_row(gp_table *table, const gp_view *view, const cJSON *report) {
    row(table, view, "field.model");
    gp_buffer *cell = gp_table_cell(table, 1);
    const char *name = gp_json_text(report, "model.name");
    gp_buffer_foreign(cell, *name ? name : gp_json_text(report, "model.id"));
    if (cell->length > 0) gp_buffer_text(cell, " · ");
    const double total = gp_json_number(report, "params.total"), trained = gp_json_number(report, "params.trainable");
    cJSON *arguments = cJSON_CreateObject();
    cJSON_AddNumberToObject(arguments, "total_params", total);
    cJSON_AddNumberToObject(arguments, "trained_params", trained);
    const bool partly = trained > 0 && trained < total;
    gp_view_message(cell, view, partly ? "cli.plan.params_trained" : "cli.plan.params", "", arguments);
    if (gp_json_number(report, "params.experts") > 0) {
        cJSON_AddNumberToObject(arguments, "active_params", gp_json_number(report, "params.active"));
        gp_view_message(cell, view, "cli.plan.active", "", arguments);
    }
    cJSON_Delete(arguments);
}

static void hardware_row(gp_table *table, const gp_view *view, const cJSON *report) {
    row(table, view, "cli.plan.hardware");
    const cJSON *hardware = gp_json_at(report, "hardware");
    const char *key = gp_json_has(hardware, "usable_bytes") ? "cli.plan.gpus" : "cli.plan.device";
    gp_view_message(gp_table_cell(table, 1), view, key, "", hardware);
}

/* "tensor parallel 4 · ZeRO stage 2 · micro-batch 4": degrees of 1 and what is off go unsaid. */
static void parallel_row(gp_table *table, const gp_view *view, const cJSON *parallel) {
    static const char *const degrees[] = {"tp", "pp", "vpp", "cp", "ep", "dp", "attention_dp", "dcp"};
    static const char *const settings[] = {"zero", "recompute", "seq_len", "micro_batch", "grad_accum", "global_batch"};
    row(table, view, "cli.plan.layout");
    gp_buffer *cell = gp_table_cell(table, 1);
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees + sizeof settings / sizeof *settings; i++) {
        const bool is_degree = i < sizeof degrees / sizeof *degrees;
        const char *name = is_degree ? degrees[i] : settings[i - sizeof degrees / sizeof *degrees];
        const cJSON *value = gp_json_at(parallel, name);
        const double least = is_degree || strcmp(name, "grad_accum") == 0 ? 1 : 0;
        if (!value || (cJSON_IsNumber(value) && value->valuedouble <= least)) continue;
        if (cell->length > 0) gp_buffer_text(cell, " · ");
        gp_buffer_text(cell, label_of(view, name));
        gp_buffer_text(cell, " ");
        field_value(cell, view, value);
    }
    if (cell->length == 0) gp_buffer_text(cell, gp_message(view->language, "cli.plan.one_gpu"));
}

/* " (9 does not fit)" behind a solved maximum; where nothing fits, the least value stands for it. */
static void limit_text(gp_buffer *cell, const gp_view *view, const cJSON *limit, const cJSON *value) {
    const bool is_size = strcmp(limit->string, "params") == 0;
    if (value->valuedouble >= limit->valuedouble) {
        gp_buffer_text(cell, gp_message(view->language, "cli.space"));
        gp_buffer_text(cell, gp_message(view->language, "cli.plan.fails_at_least"));
        return;
    }
    cJSON *arguments = cJSON_CreateObject();
    cJSON_AddNumberToObject(arguments, is_size ? "params" : "value", limit->valuedouble);
    gp_buffer_text(cell, gp_message(view->language, "cli.space"));
    gp_view_message(cell, view, is_size ? "cli.plan.fails_at_params" : "cli.plan.fails_at", "", arguments);
    cJSON_Delete(arguments);
}

static void solved_row(gp_table *table, const gp_view *view, const cJSON *report) {
    const cJSON *solved = gp_json_at(report, "solved");
    if (!solved || !solved->child) return;
    row(table, view, "cli.plan.solved");
    gp_buffer *cell = gp_table_cell(table, 1);
    const cJSON *value;
    cJSON_ArrayForEach(value, solved) {
        if (cell->length > 0) gp_buffer_text(cell, " · ");
        gp_buffer_text(cell, label_of(view, value->string));
        gp_buffer_text(cell, " ");
        field_value(cell, view, value);
        const cJSON *limit = cJSON_GetObjectItemCaseSensitive(gp_json_at(report, "fails_at"), value->string);
        if (limit) limit_text(cell, view, limit, value);
    }
}

static void figures_row(gp_table *table, const gp_view *view, const char *label, const char *key,
                        const cJSON *figures) {
    if (!figures || !figures->child) return;
    row(table, view, label);
    gp_view_message(gp_table_cell(table, 1), view, key, "", figures);
}

/* What a decode step is made of. */
static void step_row(gp_table *table, const gp_view *view, const cJSON *time) {
    static const char *const figures[][2] = {
        {"floor_s", "cli.plan.floor"}, {"reduce_s", "cli.plan.reduce"}, {"exchange_s", "cli.plan.exchange"},
        {"experts_touched", "cli.plan.touched"}};
    if (!gp_json_has(time, "floor_s")) return;
    row(table, view, "cli.plan.each_step");
    gp_buffer *cell = gp_table_cell(table, 1);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (!gp_json_has(time, figures[i][0])) continue;
        if (cell->length > 0) gp_buffer_text(cell, " · ");
        gp_view_message(cell, view, figures[i][1], "", time);
    }
}

static void time_rows(gp_table *table, const gp_view *view, const cJSON *time) {
    if (gp_json_has(time, "step_s")) figures_row(table, view, "cli.plan.time", "cli.plan.step", time);
    if (gp_json_has(time, "ttft_s")) figures_row(table, view, "cli.plan.speed", "cli.plan.speed_values", time);
    if (gp_json_has(time, "tpot_s")) {
        figures_row(table, view, "cli.plan.busy", "cli.plan.busy_values", time);
        if (gp_json_has(time, "ttft_s")) figures_row(table, view, "cli.plan.first", "cli.plan.first_value", time);
        figures_row(table, view, "cli.plan.each", "cli.plan.each_value", time);
    }
    step_row(table, view, time);
    if (gp_json_has(time, "within_targets")) {
        bool none = gp_json_number(time, "within_targets") < 1;
        figures_row(table, view, "cli.plan.targets", none ? "cli.plan.targets_none" : "cli.plan.targets_value", time);
    }
    if (gp_json_has(time, "bubble")) figures_row(table, view, "cli.plan.bubble", "cli.plan.bubble_value", time);
    if (gp_json_has(time, "efficiency")) {
        figures_row(table, view, "cli.plan.efficiency", "cli.plan.efficiency_value", time);
    }
}

static void job_table(gp_buffer *buffer, const gp_view *view, const cJSON *report) {
    gp_table table;
    gp_table_start(&table, "ll");
    if (gp_json_has(report, "model")) model_row(&table, view, report);
    if (gp_json_has(report, "hardware")) hardware_row(&table, view, report);
    if (gp_json_has(report, "parallel")) parallel_row(&table, view, gp_json_at(report, "parallel"));
    solved_row(&table, view, report);
    const cJSON *kv = gp_json_at(report, "kv");
    figures_row(&table, view, "item.kv_cache", "cli.plan.kv", kv);
    const bool on_host = gp_json_number(kv, "bytes_per_token") > 0 && !gp_json_has(kv, "max_tokens"); /* no device bounds it */
    if (gp_json_has(kv, "max_concurrency") && !on_host) {
        const bool has_room = gp_json_number(kv, "max_tokens") > 0;
        const char *words = has_room ? "cli.plan.kv_room" : gp_json_has(kv, "max_tokens") ? "cli.plan.no_room" : "cli.plan.state_room";
        figures_row(&table, view, "cli.plan.room", words, kv);
    }
    const cJSON *memory = gp_json_at(report, "memory");
    const cJSON *weights = gp_json_at(memory, "weights");
    bool spread = gp_json_number(report, "parallel.tp") * gp_json_number(report, "parallel.pp") > 1;
    if ((spread && weights != NULL) || gp_json_has(weights, "host_bytes")) {
        const bool is_split = gp_json_has(weights, "device_bytes");
        const char *words = !gp_json_has(weights, "host_bytes") ? "cli.plan.weights" : is_split ? "cli.plan.weights_on_host" : "cli.plan.weights_host_only";
        figures_row(&table, view, "item.weights", words, weights);
    }
    if (gp_json_has(memory, "host_bytes")) {
        figures_row(&table, view, "field.hardware.host_ram_gib", "cli.plan.host", memory);
    }
    if (view->verbose) {
        figures_row(&table, view, "cli.plan.meters", "cli.plan.meter_values", gp_json_at(memory, "meters"));
    }
    time_rows(&table, view, gp_json_at(report, "time"));
    gp_buffer_text(buffer, "\n");
    gp_table_print(&table, buffer, view, false);
}

/* From the size in the card's name to what is left for the cache. */
static void waterfall(gp_buffer *buffer, const gp_view *view, const cJSON *fall) {
    if (!fall) return;
    gp_view_heading(buffer, view, view->decimal_units ? "cli.fall.heading.decimal" : "cli.fall.heading");
    gp_table table;
    gp_table_start(&table, "lrr");
    gp_table_row(&table);
    gp_buffer_text(gp_table_cell(&table, 1), gp_message(view->language, "cli.fall.takes"));
    gp_buffer_text(gp_table_cell(&table, 2), gp_message(view->language, "cli.fall.left"));
    const cJSON *step;
    cJSON_ArrayForEach(step, gp_json_at(fall, "rows")) {
        const char *id = gp_json_text(step, "id"), *words = gp_message_of(view->language, "fall", id);
        gp_table_row(&table);
        gp_buffer_text(gp_table_cell(&table, 0), words == id ? gp_message_of(view->language, "item", id) : words);
        if (gp_json_has(step, "bytes")) gp_view_gigabytes(gp_table_cell(&table, 1), view, gp_json_number(step, "bytes"));
        gp_view_gigabytes(gp_table_cell(&table, 2), view, gp_json_number(step, "left_bytes"));
    }
    gp_table_print(&table, buffer, view, true);
    gp_buffer_text(buffer, "  ");
    gp_view_message(buffer, view, "cli.fall.tokens", "", fall);
    gp_buffer_text(buffer, "\n");
}

/* Latency and throughput for more and more sequences. */
static void curve(gp_buffer *buffer, const gp_view *view, const cJSON *points, bool fits) {
    static const char *const names[] = {"sequences", "ttft_s", "tpot_s", "throughput_tok_s"};
    enum { NAMES = sizeof names / sizeof *names };
    if (!points) return;
    gp_view_heading(buffer, view, fits ? "cli.curve.heading" : "cli.curve.heading_if");
    gp_table table;
    gp_table_start(&table, "rrrr");
    gp_table_row(&table);
    for (int i = 0; i < NAMES; i++) {
        gp_buffer_text(gp_table_cell(&table, i), gp_message_of(view->language, "cli.curve", names[i]));
    }
    const cJSON *point;
    cJSON_ArrayForEach(point, points) {
        gp_table_row(&table);
        for (int i = 0; i < NAMES; i++) gp_view_argument(gp_table_cell(&table, i), view, gp_json_at(point, names[i]));
    }
    gp_table_print(&table, buffer, view, true);
}

static void link(gp_buffer *buffer, const gp_view *view, const cJSON *report) {
    const char *text = gp_json_text(report, "link");
    if (!*text) return;
    gp_view_heading(buffer, view, "cli.plan.link");
    gp_buffer_text(buffer, "  #");
    gp_buffer_foreign(buffer, text);
    gp_buffer_text(buffer, "\n");
}

void gp_plan_view(gp_buffer *buffer, const gp_view *view, const cJSON *report) {
    verdict(buffer, view, report);
    job_table(buffer, view, report);
    gp_memory_view(buffer, view, report);
    waterfall(buffer, view, gp_json_at(report, "waterfall"));
    curve(buffer, view, gp_json_at(report, "time.curve"), strcmp(gp_json_text(report, "verdict"), "no") != 0);
    gp_advice_view(buffer, view, report);
    gp_notes_view(buffer, view, report);
    link(buffer, view, report);
}
