#include "advise/rank.h"

#include <stdlib.h>
#include <string.h>

#include "advise/planner.h"
#include "plan/derive.h"

#define INSTANCES_MOST 64

static void place(gp_job *job, const gp_gpu_row *gpu) {
    gp_gpu_request *request = &job->gpu;
    *request = (gp_gpu_request){.custom = false};
    size_t length = strlen(gpu->name);
    if (length >= sizeof request->name) length = sizeof request->name - 1;
    memcpy(request->name, gpu->name, length);
}

static const gp_diagnostic *first_error(const gp_diagnostics *diagnostics) {
    for (int i = 0; i < diagnostics->count; i++)
        if (gp_code_severity(diagnostics->rows[i].code) == GP_SEVERITY_ERROR) return &diagnostics->rows[i];
    return NULL;
}

static gp_range tokens_per_s(const gp_plan *plan) {
    if (!gp_is_training(&plan->job)) return plan->serving.throughput_tok_s;
    return (gp_range){.value = plan->time.tokens_per_s};
}

/* Plans the job where it stands now and takes the figures over. */
static void try_row(const gp_job *job, gp_plan *plan, gp_rank_row *row) {
    gp_diagnostics_clear(&plan->diagnostics);
    plan->stages = NULL;
    row->answered = gp_plan_make(job, NULL, plan);
    const gp_diagnostic *error = row->answered ? NULL : first_error(&plan->diagnostics);
    if (error != NULL) row->fault = *error;
    if (row->answered) {
        row->verdict = plan->verdict;
        row->count = plan->layout.gpus;
        row->peak_bytes = plan->peak.bytes;
        row->usable_bytes = plan->device.usable_bytes;
        row->serves = !gp_is_training(&plan->job);
        row->max_context = plan->kv.max_context;
        row->max_concurrency = plan->kv.max_concurrency;
        row->tokens_per_s = tokens_per_s(plan);
        row->sequences = plan->serving.sequences;
        row->has_targets = plan->curve.has_targets;
        row->within_targets = plan->curve.within_targets;
        row->params = plan->model.total_params;
        row->trained_context = plan->model.shape.max_context;
    }
    gp_plan_release(plan);
}

static void try_gpu(gp_job *job, gp_plan *plan, gp_rank_row *row) {
    place(job, row->gpu);
    gp_set_whole(job, GP_FIELD_COUNT, 1, GP_AUTO);
    try_row(job, plan, row);
}

static void try_model(gp_job *job, gp_plan *plan, gp_rank_row *row) {
    gp_model_request *model = &job->model;
    memset(model, 0, sizeof *model);
    *model = (gp_model_request){.source = GP_MODEL_NAMED, .tied_embeddings = -1, .gated_ffn = -1, .bias = -1, .qkv_bias = -1,
                                .qk_norm = -1};
    size_t length = strlen(row->model.id);
    if (length >= sizeof model->name) length = sizeof model->name - 1;
    memcpy(model->name, row->model.id, length);
    try_row(job, plan, row);
}

static bool holds(const gp_rank_row *row) { return row->answered && row->verdict != GP_NO; }

/* Of a million tokens at a rate, 0 where it is not known. */
static double million_tokens(double usd_per_hour, double tokens_per_s) {
    return tokens_per_s > 0 ? usd_per_hour / 3600 / tokens_per_s * 1e6 : 0;
}

static void set_prices(gp_rank_row *row) {
    const gp_range *rate = &row->tokens_per_s;
    row->usd_per_hour = (double)row->instances * row->instance->usd_per_hour;
    row->usd_per_million_tokens = (gp_range){million_tokens(row->usd_per_hour, rate->value), million_tokens(row->usd_per_hour, rate->high),
                                             million_tokens(row->usd_per_hour, rate->low)};
    double users = row->has_targets ? row->within_targets : row->sequences;
    if (users > 0) row->usd_per_user_hour = row->usd_per_hour / users;
}

static void try_instance(gp_job *job, gp_plan *plan, gp_rank_row *row) {
    const gp_rank_row empty = *row;
    int64_t number = 1;
    place(job, row->gpu);
    gp_set_whole(job, GP_FIELD_PER_NODE, row->instance->gpus, GP_GIVEN);
    for (; number <= INSTANCES_MOST && !holds(row); number *= 2) {
        *row = empty;
        gp_set_whole(job, GP_FIELD_COUNT, number * row->instance->gpus, GP_GIVEN);
        try_row(job, plan, row);
        row->instances = number;
    }
    if (!holds(row)) {
        *row = empty;
        gp_set_whole(job, GP_FIELD_COUNT, row->instance->gpus, GP_GIVEN);
        try_row(job, plan, row);
        row->instances = 1;
    }
    row->count = row->instances * row->instance->gpus;
    set_prices(row);
}

/* What orders rows besides themselves. */
typedef struct {
    bool by_tokens; /* prices of tokens, else of hours */
    bool fills;     /* the job asks for the most that fits: it is tight nearly everywhere, and where it is not is chance */
} ordering;

/* Smaller comes first. */
static int standing(const gp_rank_row *row, bool fills) {
    if (!row->answered) return GP_NO + 1;
    return fills && row->verdict == GP_TIGHT ? GP_FITS : (int)row->verdict;
}

static double card_bytes(const gp_rank_row *row) {
    return row->gpu->memory_bytes > 0 ? (double)row->gpu->memory_bytes : row->gpu->memory_gb_nominal * (double)GP_GIB;
}

static int order(double a, double b) { return (a > b) - (a < b); }

static int order_known(double a, double b) {
    if ((a > 0) != (b > 0)) return a > 0 ? -1 : 1;
    return order(a, b);
}

static bool comes_before(const gp_rank_row *a, const gp_rank_row *b, const ordering *by) {
    int difference = standing(a, by->fills) - standing(b, by->fills);
    if (a->gpu == NULL) {
        int larger = order((double)b->params, (double)a->params);
        return difference < 0 || (difference == 0 && (holds(a) ? larger : -larger) < 0);
    }
    if (difference == 0 && a->instance != NULL) {
        difference = by->by_tokens ? order_known(a->usd_per_million_tokens.value, b->usd_per_million_tokens.value)
                               : order_known(a->usd_per_hour, b->usd_per_hour);
    }
    if (difference == 0) difference = order((double)a->count, (double)b->count);
    if (difference == 0) difference = order(card_bytes(a), card_bytes(b));
    if (difference == 0) difference = b->gpu->release_year - a->gpu->release_year;
    return difference < 0;
}

/* Prices of tokens order the list only where each row that has an hourly price has one of tokens, too. */
static bool tokens_are_priced(const gp_rank_row *rows, int count) {
    bool any = false;
    for (int i = 0; i < count; i++) {
        if (!rows[i].answered || !(rows[i].usd_per_hour > 0)) continue;
        if (!(rows[i].usd_per_million_tokens.value > 0)) return false;
        any = true;
    }
    return any;
}

static bool fills_memory(const gp_job *job) {
    bool fills = job->model.params_max;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) fills = fills || gp_origin_of(job, (gp_field)i) == GP_MAX;
    return fills;
}

/* Insertion keeps equal rows in the order of the catalogue; there are a hundred of them. */
static void sort(gp_rank_row *rows, int count, bool fills) {
    const ordering by = {tokens_are_priced(rows, count), fills};
    for (int i = 1; i < count; i++) {
        gp_rank_row moving = rows[i];
        int at = i;
        for (; at > 0 && comes_before(&moving, &rows[at - 1], &by); at--) rows[at] = rows[at - 1];
        rows[at] = moving;
    }
}

/* Apple's GPUs are programmed through Metal, for which few engines and frameworks have kernels (ggml's Metal backend, MLX,
 * MLC and PyTorch's MPS); TensorRT-LLM is for NVIDIA's alone. A job on hardware that its program does not know is no offer. */
static bool has_kernels(const gp_job *job, const gp_gpu_row *gpu) {
    static const char *const engines[] = {"llama.cpp", "mlx", "mlc-llm", "transformers"};
    static const char *const frameworks[] = {"hf-trainer", "peft", "other"};
    bool train = gp_is_training(job), metal = strcmp(gpu->vendor, "Apple") == 0, known = !metal;
    if (!train && gp_choice_is(job, GP_FIELD_ENGINE, "tensorrt-llm")) return strcmp(gpu->vendor, "NVIDIA") == 0;
    for (size_t i = 0; !train && !known && i < sizeof engines / sizeof *engines; i++)
        known = gp_choice_is(job, GP_FIELD_ENGINE, engines[i]);
    for (size_t i = 0; train && !known && i < sizeof frameworks / sizeof *frameworks; i++)
        known = gp_origin_of(job, GP_FIELD_FRAMEWORK) == GP_GIVEN && gp_choice_is(job, GP_FIELD_FRAMEWORK, frameworks[i]);
    return known;
}

/* The row of one place in the catalogue; false when it is not wanted or its GPU is not known or not for the job. */
static bool row_at(const gp_job *job, gp_rank_kind kind, int index, const char *filter, gp_rank_row *row) {
    *row = (gp_rank_row){.gpu = NULL};
    if (kind == GP_RANK_MODELS) return gp_catalog_model(index, &row->model) && gp_catalog_model_matches(&row->model, filter);
    if (kind == GP_RANK_GPUS) {
        row->gpu = gp_catalog_gpu(index);
        return has_kernels(job, row->gpu) && gp_catalog_gpu_matches(row->gpu, filter);
    }
    row->instance = gp_catalog_instance(index);
    row->gpu = gp_catalog_find_gpu(row->instance->gpu);
    return row->gpu != NULL && row->instance->gpus > 0 && has_kernels(job, row->gpu) && gp_catalog_instance_matches(row->instance, filter);
}

static int rows_of(gp_rank_kind kind) {
    if (kind == GP_RANK_MODELS) return gp_catalog_model_count();
    return kind == GP_RANK_GPUS ? gp_catalog_gpu_count() : gp_catalog_instance_count();
}

static void try_kind(gp_rank_kind kind, gp_job *job, gp_plan *plan, gp_rank_row *row) {
    if (kind == GP_RANK_MODELS)
        try_model(job, plan, row);
    else if (kind == GP_RANK_GPUS)
        try_gpu(job, plan, row);
    else
        try_instance(job, plan, row);
}

gp_rank_row *gp_rank(const gp_job *request, gp_rank_kind kind, const char *filter, gp_plan *plan, int *count) {
    int most = rows_of(kind);
    gp_rank_row *rows = malloc((size_t)most * sizeof *rows);
    gp_job *job = malloc(sizeof *job);
    *count = 0;
    for (int i = 0; rows != NULL && job != NULL && i < most; i++) {
        gp_rank_row *row = &rows[*count];
        if (!row_at(request, kind, i, filter, row)) continue;
        *job = *request;
        try_kind(kind, job, plan, row);
        *count += 1;
    }
    bool complete = rows != NULL && job != NULL;
    free(job);
    if (!complete) {
        free(rows);
        return NULL;
    }
    sort(rows, *count, fills_memory(request));
    return rows;
}
