#include "report/report.h"

#include <math.h>
#include <string.h>

#include "gpuplan.h"
#include "model/quantize.h"
#include "base/quantity.h"
#include "plan/waterfall.h"

void gp_report_begin(gp_writer *writer, const char *op) {
    gp_write_open(writer, NULL, '{');
    gp_write_whole(writer, "gpuplan", GP_GRAMMAR_VERSION);
    if (op != NULL) gp_write_text(writer, "op", op);
    gp_write_text(writer, "version", GP_VERSION);
}

void gp_report_end(gp_writer *writer) { gp_write_close(writer, '}'); }

void gp_report_diagnostic(gp_writer *writer, const gp_diagnostic *row) {
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, "code", gp_code_key(row->code));
    gp_write_text(writer, "path", row->path);
    gp_write_open(writer, "args", '{');
    for (int i = 0; i < row->argument_count; i++) {
        const gp_argument *argument = &row->arguments[i];
        if (argument->kind == GP_ARGUMENT_NUMBER)
            gp_write_number(writer, argument->name, argument->number);
        else
            gp_write_text(writer, argument->name, argument->text);
    }
    gp_write_close(writer, '}');
    gp_write_close(writer, '}');
}

void gp_report_diagnostics(gp_writer *writer, const char *key, const gp_diagnostics *diagnostics,
                           gp_severity severity) {
    gp_write_open(writer, key, '[');
    for (int i = 0; i < diagnostics->count; i++)
        if (gp_code_severity(diagnostics->rows[i].code) == severity) gp_report_diagnostic(writer, &diagnostics->rows[i]);
    gp_write_close(writer, ']');
}

static void write_binding(gp_writer *writer, const gp_plan *plan) {
    uint64_t peak = plan->peak.bytes, usable = plan->device.usable_bytes;
    gp_write_open(writer, "binding", '{');
    gp_write_text(writer, "item", gp_item_key(plan->binding_item));
    gp_write_whole(writer, "stage", plan->peak.stage);
    gp_write_text(writer, "phase", gp_phase_key(plan->stages[plan->peak.stage].peak_phase));
    gp_write_bytes(writer, "bytes", plan->binding_bytes);
    gp_write_bytes(writer, "peak_bytes", peak);
    if (gp_device_is_measured(&plan->device)) {
        gp_write_bytes(writer, "usable_bytes", usable);
        if (peak > usable)
            gp_write_bytes(writer, "over_bytes", peak - usable);
        else
            gp_write_bytes(writer, "spare_bytes", usable - peak);
    }
    gp_write_close(writer, '}');
}

/* The last part of a field's path. */
static const char *short_name(gp_field field) {
    if (field == GP_FIELD_TOTAL) return "params";
    const char *path = gp_field_info(field)->path, *last = path;
    for (; *path != '\0'; path++)
        if (*path == '.') last = path + 1;
    return last;
}

static void write_solutions(gp_writer *writer, const gp_plan *plan) {
    gp_write_open(writer, "solved", '{');
    for (int i = 0; i < plan->solution_count; i++) {
        const gp_solution *solution = &plan->solutions[i];
        const char *name = short_name(solution->field);
        if (solution->field < GP_FIELD_TOTAL && gp_field_info(solution->field)->kind == GP_KIND_CHOICE) {
            char text[GP_CHANGE_BYTES];
            gp_setting_text(&plan->job, solution->field, text, sizeof text);
            gp_write_text(writer, name, text);
        } else {
            gp_write_number(writer, name, solution->value);
        }
    }
    gp_write_close(writer, '}');
    gp_write_open(writer, "fails_at", '{');
    for (int i = 0; i < plan->solution_count; i++)
        gp_write_known(writer, short_name(plan->solutions[i].field), plan->solutions[i].fails_at);
    gp_write_close(writer, '}');
}

static void write_hardware(gp_writer *writer, const gp_plan *plan, gp_detail detail) {
    const gp_device *device = &plan->device;
    gp_write_open(writer, "hardware", '{');
    gp_write_text(writer, "gpu", device->name);
    gp_write_whole(writer, "count", plan->layout.gpus);
    gp_write_whole(writer, "per_node", plan->layout.per_node);
    gp_write_known(writer, "capacity_bytes", (double)device->capacity_bytes);
    if (gp_device_is_measured(device)) gp_write_bytes(writer, "usable_bytes", device->usable_bytes);
    gp_write_known(writer, "nominal_gb", device->nominal_gb);
    /* The source of a GPU that this one is like says nothing of its memory. */
    bool listed = device->row != NULL && strcmp(device->row->name, device->name) == 0;
    if (listed && gp_tells_texts(detail))
        gp_write_known_text(writer, "source", gp_catalog_gpu_source(device->row));
    gp_write_close(writer, '}');
}

static void write_training_degrees(gp_writer *writer, const gp_plan *plan) {
    const gp_layout *layout = &plan->layout;
    char recompute[GP_CHANGE_BYTES];
    gp_setting_text(&plan->job, GP_FIELD_RECOMPUTE, recompute, sizeof recompute);
    gp_write_whole(writer, "vpp", layout->vpp);
    gp_write_whole(writer, "cp", layout->cp);
    gp_write_whole(writer, "ep", layout->ep);
    gp_write_whole(writer, "dp", layout->dp);
    gp_write_whole(writer, "zero", layout->zero);
    gp_write_switch(writer, "sequence_parallel", layout->sequence_parallel);
    gp_write_text(writer, "recompute", recompute);
    gp_write_whole(writer, "micro_batch", layout->micro_batch);
    gp_write_whole(writer, "grad_accum", layout->grad_accum);
    gp_write_whole(writer, "global_batch", layout->global_batch);
    gp_write_whole(writer, "seq_len", layout->seq_len);
}

static void write_serving_degrees(gp_writer *writer, const gp_layout *layout) {
    gp_write_whole(writer, "dp", layout->dp);
    if (layout->dcp > 1) gp_write_whole(writer, "dcp", layout->dcp);
    if (layout->attention.groups == 1) return;
    gp_write_whole(writer, "attention_dp", layout->attention.groups);
    gp_write_whole(writer, "attention_tp", layout->attention.tp);
}

static void write_parallel(gp_writer *writer, const gp_plan *plan) {
    gp_write_open(writer, "parallel", '{');
    gp_write_whole(writer, "tp", plan->layout.tp);
    gp_write_whole(writer, "pp", plan->layout.pp);
    if (gp_is_training(&plan->job))
        write_training_degrees(writer, plan);
    else
        write_serving_degrees(writer, &plan->layout);
    gp_write_close(writer, '}');
}

/* False where every layer's cache lies in host memory, for which there is no pool. */
static bool is_on_device(const gp_plan *plan) {
    for (int64_t i = 0; i < plan->stage_count; i++)
        if (plan->stages[i].host_cache_bytes == 0 || gp_plan_item_bytes(&plan->stages[i], GP_ITEM_KV_CACHE, GP_PHASE_DECODE) > 0) return true;
    return false;
}

static void write_cache(gp_writer *writer, const gp_plan *plan) {
    const gp_kv_figures *kv = &plan->kv;
    gp_write_open(writer, "kv", '{');
    gp_write_bytes(writer, "bytes_per_token", kv->bytes_per_token);
    gp_write_bytes(writer, "bytes", kv->bytes);
    if (gp_device_is_measured(&plan->device)) {
        bool caches = kv->bytes_per_token > 0 && is_on_device(plan);
        if (caches) gp_write_bytes(writer, "max_tokens", kv->max_tokens);
        gp_write_bytes(writer, "max_context", kv->max_context);
        gp_write_bytes(writer, "max_concurrency", kv->max_concurrency);
        if (caches) gp_write_bytes(writer, "pool_bytes", kv->pool_bytes);
    }
    gp_write_close(writer, '}');
}

/* The tensors of a GGUF file by type. */
static void write_file(gp_writer *writer, const gp_plan *plan) {
    if (plan->layout.recipe.mix < 0 || plan->layout.recipe.mix_layers > 0) return;
    gp_file_bytes file;
    gp_quantize(&plan->model, plan->layout.recipe.mix, &file);
    uint64_t bytes = gp_add(gp_add(file.embedding, file.output), gp_add(file.ends, file.layers));
    gp_write_open(writer, "file", '{');
    gp_write_bytes(writer, "bytes", gp_add(bytes, gp_file_extra(&plan->model, plan->layout.recipe.mix)));
    gp_write_bytes(writer, "tensor_bytes", bytes);
    gp_write_open(writer, "bytes_by_type", '{');
    for (int type = 0; type < GP_GGML_COUNT; type++)
        gp_write_known(writer, gp_ggml_info((gp_ggml_type)type)->name, (double)file.by_type[type]);
    gp_write_close(writer, '}');
    gp_write_close(writer, '}');
}

static void write_range(gp_writer *writer, const char *name, const char *low, const char *high, const gp_range *range) {
    gp_write_known(writer, name, range->value);
    gp_write_known(writer, low, range->low);
    gp_write_known(writer, high, range->high);
}
#define RANGE(writer, name, range) write_range(writer, name, name "_low", name "_high", range)

/* A figure's formula with its terms, under the figure's name. */
static void write_reason(gp_writer *writer, const char *name, const gp_timed *timed, gp_detail detail) {
    if (timed->why.formula == NULL) return;
    gp_write_open(writer, name, '{');
    gp_write_number(writer, "value", timed->value);
    gp_report_explanation(writer, &timed->why, detail);
    gp_write_close(writer, '}');
}

static void write_curve(gp_writer *writer, const gp_serving_curve *curve) {
    if (curve->count == 0) return;
    gp_write_open(writer, "curve", '[');
    for (int i = 0; i < curve->count; i++) {
        const gp_serving_point *point = &curve->points[i];
        gp_write_open(writer, NULL, '{');
        gp_write_number(writer, "sequences", point->sequences);
        RANGE(writer, "ttft_s", &point->ttft_s);
        RANGE(writer, "tpot_s", &point->tpot_s);
        RANGE(writer, "throughput_tok_s", &point->throughput_tok_s);
        gp_write_close(writer, '}');
    }
    gp_write_close(writer, ']');
}

static void write_serving(gp_writer *writer, const gp_serving *serving, const gp_serving_curve *curve,
                          gp_detail detail) {
    if (!(serving->decode_tok_s.value > 0)) return;
    gp_write_open(writer, "time", '{');
    RANGE(writer, "ttft_s", &serving->ttft_s);
    RANGE(writer, "tpot_s", &serving->tpot_s);
    RANGE(writer, "prefill_tok_s", &serving->prefill_tok_s);
    RANGE(writer, "decode_tok_s", &serving->decode_tok_s);
    RANGE(writer, "throughput_tok_s", &serving->throughput_tok_s);
    gp_write_number(writer, "sequences", serving->sequences);
    const gp_step_insight *insight = &serving->insight;
    gp_write_known(writer, "floor_s", insight->floor.value);
    gp_write_known(writer, "reduce_s", insight->reduce.value);
    gp_write_known(writer, "exchange_s", insight->exchange.value);
    gp_write_known(writer, "experts_touched", insight->touched.value);
    if (curve->has_targets) gp_write_number(writer, "within_targets", curve->within_targets);
    if (detail != GP_DETAIL_BRIEF) {
        write_curve(writer, curve);
        gp_write_open(writer, "why", '{');
        write_reason(writer, "alone_s", &serving->alone, detail);
        write_reason(writer, "step_s", &serving->step, detail);
        write_reason(writer, "prompt_s", &serving->prompt, detail);
        write_reason(writer, "ttft_s", &serving->ttft, detail);
        write_reason(writer, "tpot_s", &serving->tpot, detail);
        write_reason(writer, "prefill_tok_s", &serving->prefill, detail);
        write_reason(writer, "decode_tok_s", &serving->decode, detail);
        write_reason(writer, "throughput_tok_s", &serving->throughput, detail);
        write_reason(writer, "floor_s", &insight->floor, detail);
        write_reason(writer, "reduce_s", &insight->reduce, detail);
        write_reason(writer, "exchange_s", &insight->exchange, detail);
        write_reason(writer, "experts_touched", &insight->touched, detail);
        gp_write_close(writer, '}');
    }
    gp_write_close(writer, '}');
}

/* From the nominal size to the tokens: what each step takes, and what is left after it. */
static void write_waterfall(gp_writer *writer, const gp_plan *plan) {
    gp_waterfall fall;
    if (gp_is_training(&plan->job) || !gp_waterfall_of(plan, &fall)) return;
    gp_write_open(writer, "waterfall", '{');
    gp_write_whole(writer, "stage", fall.stage);
    gp_write_open(writer, "rows", '[');
    double left = 0;
    for (int row = 0; row < GP_FALL_COUNT; row++) {
        bool is_level = row == GP_FALL_NOMINAL || row == GP_FALL_VISIBLE || row == GP_FALL_POOL;
        left = is_level ? fall.bytes[row] : fmax(0, left - fall.bytes[row]);
        if (fall.bytes[row] < 1 && row != GP_FALL_POOL) continue;
        gp_write_open(writer, NULL, '{');
        gp_write_text(writer, "id", gp_fall_key((gp_fall)row));
        if (!is_level) gp_write_number(writer, "bytes", floor(fall.bytes[row]));
        gp_write_number(writer, "left_bytes", floor(left));
        gp_write_close(writer, '}');
    }
    gp_write_close(writer, ']');
    gp_write_number(writer, "tokens", floor(fall.tokens));
    gp_write_number(writer, "sequences", floor(fall.sequences));
    gp_write_close(writer, '}');
}

static void write_time(gp_writer *writer, const gp_time_figures *time) {
    if (!(time->step_s > 0 || time->bubble > 0 || time->efficiency > 0)) return;
    gp_write_open(writer, "time", '{');
    gp_write_known(writer, "step_s", time->step_s);
    gp_write_known(writer, "tokens_per_s", time->tokens_per_s);
    gp_write_known(writer, "tokens_per_s_per_gpu", time->tokens_per_s_per_gpu);
    gp_write_known(writer, "bubble", time->bubble);
    gp_write_known(writer, "efficiency", time->efficiency);
    gp_write_close(writer, '}');
}

void gp_report_plan(gp_writer *writer, const gp_plan *plan, gp_detail detail, const char *link) {
    bool brief = detail == GP_DETAIL_BRIEF;
    gp_write_text(writer, "verdict", gp_verdict_key(plan, plan->verdict));
    write_binding(writer, plan);
    write_solutions(writer, plan);
    gp_report_model(writer, plan, detail);
    if (!brief) write_hardware(writer, plan, detail);
    write_parallel(writer, plan);
    gp_report_memory(writer, plan, detail);
    bool training = gp_is_training(&plan->job);
    if (!training) write_cache(writer, plan);
    if (!brief) write_file(writer, plan);
    write_time(writer, &plan->time);
    if (!training) write_serving(writer, &plan->serving, &plan->curve, detail);
    gp_report_diagnostics(writer, "warnings", &plan->diagnostics, GP_SEVERITY_WARNING);
    if (brief) return;
    write_waterfall(writer, plan);
    gp_report_steps(writer, plan);
    gp_report_advice(writer, plan);
    gp_report_diagnostics(writer, "assumptions", &plan->diagnostics, GP_SEVERITY_ASSUMPTION);
    gp_write_known_text(writer, "link", link);
}
