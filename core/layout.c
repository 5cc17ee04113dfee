#include "layout.h"

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t at_least_one(int64_t value) { return value < 1 ? 1 : value; }

/* Value of a degree, or `fallback` when the job leaves it open. */
static int64_t degree(const gp_job *job, gp_field field, int64_t fallback) {
    return gp_known(job, field) ? at_least_one(gp_whole(job, field)) : fallback;
}

/* Product of degrees; each is at most 2^20 and the factors are few, so saturation only guards hostile input. */
static int64_t product(int64_t a, int64_t b) {
    uint64_t value = gp_mul((uint64_t)a, (uint64_t)b);
    return value > GP_EXACT_MAX ? (int64_t)GP_EXACT_MAX : (int64_t)value;
}

/* The whole node's GPUs as far as the heads allow: the largest divisor of the count that divides the heads and that
 * the KV heads divide or are divided by. */
static int64_t widest_tensor_parallel(const gp_model *model, int64_t gpus, int64_t per_node) {
    int64_t heads = model->shape.heads, kv_heads = at_least_one(model->shape.kv_heads);
    int64_t limit = gpus < per_node ? gpus : per_node;
    for (int64_t tp = limit; tp > 1; tp--) {
        bool kv_even = kv_heads % tp == 0 || tp % kv_heads == 0;
        if (gpus % tp == 0 && heads % tp == 0 && kv_even) return tp;
    }
    return 1;
}

static void read_training(const gp_job *job, gp_layout *layout) {
    layout->tp = degree(job, GP_FIELD_TP, 1);
    layout->pp = degree(job, GP_FIELD_PP, 1);
    layout->vpp = layout->pp > 1 ? degree(job, GP_FIELD_VPP, 1) : 1;
    layout->cp = degree(job, GP_FIELD_CP, 1);
    layout->ep = degree(job, GP_FIELD_EP, 1);
    layout->zero = gp_known(job, GP_FIELD_ZERO) ? (int)gp_whole(job, GP_FIELD_ZERO) : 0;
    layout->sequence_parallel =
        gp_known(job, GP_FIELD_SEQUENCE_PARALLEL) ? gp_whole(job, GP_FIELD_SEQUENCE_PARALLEL) != 0 : layout->tp > 1;
    layout->micro_batch = degree(job, GP_FIELD_MICRO_BATCH, 1);
    layout->seq_len = degree(job, GP_FIELD_SEQ_LEN, 1);
}

/* llama.cpp splits by layers over all GPUs (--split-mode layer, its default); other engines use tensor parallelism
 * within the node and replicas beyond it. */
static void read_inference(const gp_job *job, const gp_model *model, gp_layout *layout) {
    bool by_layers = layout->recipe.engine == GP_ENGINE_LLAMA_CPP;
    bool stages_open = !gp_known(job, GP_FIELD_INFER_PP) || gp_origin_of(job, GP_FIELD_INFER_PP) == GP_DEFAULT;
    bool split_open = !gp_known(job, GP_FIELD_INFER_TP);
    layout->tp = degree(job, GP_FIELD_INFER_TP, 1);
    layout->pp = degree(job, GP_FIELD_INFER_PP, 1);
    int64_t replicas = degree(job, GP_FIELD_INFER_DP, 1);
    int64_t gpus = layout->gpus % replicas == 0 ? layout->gpus / replicas : layout->gpus;
    if (split_open && stages_open && by_layers)
        layout->pp = gpus < model->shape.layers ? gpus : at_least_one(model->shape.layers);
    else if (split_open)
        layout->tp = widest_tensor_parallel(model, gpus % layout->pp == 0 ? gpus / layout->pp : 1, layout->per_node);
}

/* What has to be held at once: every sequence with its whole context, spread over the replicas. */
static void settle_sequences(const gp_job *job, gp_layout *layout) {
    int64_t exchange = at_least_one(gp_whole(job, GP_FIELD_PROMPT) + gp_whole(job, GP_FIELD_OUTPUT));
    layout->context = degree(job, GP_FIELD_CONTEXT, exchange);
    layout->sequences = ceil_div(degree(job, GP_FIELD_CONCURRENCY, 1), layout->dp);
}

static void check_heads(const gp_layout *layout, const gp_model *model, const char *path, gp_diagnostics *diagnostics) {
    int64_t heads = model->shape.heads, kv_heads = at_least_one(model->shape.kv_heads), tp = layout->tp;
    bool kv_even = kv_heads % tp == 0 || tp % kv_heads == 0;
    if (heads % tp != 0 || !kv_even) {
        gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_HEADS_NOT_DIVISIBLE, path);
        gp_argue_number(row, "heads", (double)(heads % tp != 0 ? heads : kv_heads));
        gp_argue_number(row, "tp", (double)tp);
    } else if (tp > kv_heads) {
        gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_KV_HEADS_REPLICATED, path);
        gp_argue_number(row, "kv_heads", (double)kv_heads);
        gp_argue_number(row, "tp", (double)tp);
        int64_t copies = tp / kv_heads;
        gp_argue_number(row, "copies", (double)copies);
    }
}

static void check_stages(const gp_layout *layout, const gp_model *model, const char *path,
                         gp_diagnostics *diagnostics) {
    int64_t chunks = product(layout->pp, layout->vpp);
    if (chunks <= model->shape.layers) return;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_LAYERS_NOT_ENOUGH, path);
    gp_argue_number(row, "layers", (double)model->shape.layers);
    gp_argue_number(row, "pp", (double)chunks);
}

/* Data parallelism is what the other degrees leave of the GPUs. */
static void settle_replicas(const gp_job *job, gp_layout *layout, gp_field dp_field, gp_diagnostics *diagnostics) {
    int64_t inner = product(product(layout->tp, layout->pp), layout->cp);
    bool even = layout->gpus % inner == 0;
    layout->dp = degree(job, dp_field, even ? layout->gpus / inner : 1);
    int64_t used = product(inner, layout->dp);
    if (gp_origin_of(job, GP_FIELD_COUNT) == GP_DEFAULT && layout->gpus == 1) layout->gpus = used;
    if (used == layout->gpus) return;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_PARALLEL_MISMATCH, "hardware.count");
    gp_argue_number(row, "count", (double)layout->gpus);
    gp_argue_number(row, "product", (double)used);
}

/* global_batch = micro_batch * grad_accum * dp: the missing one follows from the other two. */
static void settle_batch(const gp_job *job, gp_layout *layout, gp_diagnostics *diagnostics) {
    int64_t per_pass = product(layout->micro_batch, layout->dp);
    bool batch_known = gp_known(job, GP_FIELD_GLOBAL_BATCH);
    layout->grad_accum = degree(job, GP_FIELD_GRAD_ACCUM, 1);
    layout->global_batch = product(per_pass, layout->grad_accum);
    if (!batch_known) return;
    int64_t stated = at_least_one(gp_whole(job, GP_FIELD_GLOBAL_BATCH));
    if (!gp_known(job, GP_FIELD_GRAD_ACCUM)) {
        layout->grad_accum = at_least_one(stated / per_pass);
        layout->global_batch = product(per_pass, layout->grad_accum);
    }
    if (layout->global_batch == stated) return;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_BATCH_MISMATCH, "train.global_batch");
    gp_argue_number(row, "global_batch", (double)stated);
    gp_argue_number(row, "product", (double)layout->global_batch);
}

static bool has_error(const gp_diagnostics *diagnostics, int from) {
    for (int i = from; i < diagnostics->count; i++)
        if (gp_code_severity(diagnostics->rows[i].code) == GP_SEVERITY_ERROR) return true;
    return false;
}

bool gp_layout_build(const gp_job *job, const gp_model *model, gp_layout *layout, gp_diagnostics *diagnostics) {
    int before = diagnostics->count;
    bool training = gp_is_training(job);
    *layout = (gp_layout){.tp = 1, .pp = 1, .vpp = 1, .cp = 1, .ep = 1, .dp = 1, .micro_batch = 1, .grad_accum = 1};
    layout->gpus = degree(job, GP_FIELD_COUNT, 1);
    layout->per_node = degree(job, GP_FIELD_PER_NODE, 8);
    gp_recipe_build(job, model, &layout->recipe);
    if (training)
        read_training(job, layout);
    else
        read_inference(job, model, layout);
    check_heads(layout, model, training ? "train.tp" : "infer.tp", diagnostics);
    check_stages(layout, model, training ? "train.pp" : "infer.pp", diagnostics);
    settle_replicas(job, layout, training ? GP_FIELD_DP : GP_FIELD_INFER_DP, diagnostics);
    if (training)
        settle_batch(job, layout, diagnostics);
    else
        settle_sequences(job, layout);
    return !has_error(diagnostics, before);
}

/* Share of one matrix on one tensor-parallel rank. KV heads that are fewer than the ranks are copied. */
static uint64_t matrix_share(const gp_matrix *matrix, const gp_shape *shape, int64_t tp) {
    uint64_t whole = gp_mul((uint64_t)matrix->inputs, (uint64_t)matrix->outputs);
    if (matrix->split != GP_SPLIT_KV_COLUMN) return gp_div_ceil(whole, (uint64_t)tp);
    int64_t kv_heads = at_least_one(shape->kv_heads);
    return gp_mul(whole / (uint64_t)kv_heads, (uint64_t)ceil_div(kv_heads, tp));
}

/* Biases of column-split matrices are split with their outputs, those of row-split ones are copied. */
static uint64_t bias_share(const gp_matrix *matrix, int64_t tp) {
    if (!matrix->bias) return 0;
    uint64_t outputs = (uint64_t)matrix->outputs;
    return matrix->split == GP_SPLIT_ROW ? outputs : gp_div_ceil(outputs, (uint64_t)tp);
}

/* Elements of the two adapter matrices on one rank: the factor on the unsplit side is copied. */
static uint64_t adapter_share(const gp_matrix *matrix, uint64_t rank, int64_t tp) {
    uint64_t inputs = (uint64_t)matrix->inputs, outputs = (uint64_t)matrix->outputs, ways = (uint64_t)tp;
    bool by_rows = matrix->split == GP_SPLIT_ROW;
    uint64_t in_share = by_rows ? gp_div_ceil(inputs, ways) : inputs;
    uint64_t out_share = by_rows ? outputs : gp_div_ceil(outputs, ways);
    return gp_mul(rank, gp_add(in_share, out_share));
}

typedef struct { uint64_t linear, bias, adapter_share, adapter_whole; } layer_sums;

static layer_sums sum_layer(const gp_job *job, const gp_layer *layer, const gp_shape *shape, int64_t tp) {
    layer_sums sums = {0, 0, 0, 0};
    uint64_t rank = gp_is_adapter(job) ? (uint64_t)gp_whole(job, GP_FIELD_LORA_RANK) : 0;
    unsigned targets = job->lora_targets != 0 ? job->lora_targets : GP_TARGET_ALL_LINEAR;
    for (int i = 0; i < layer->matrix_count; i++) {
        const gp_matrix *matrix = &layer->matrices[i];
        sums.linear = gp_add(sums.linear, matrix_share(matrix, shape, tp));
        sums.bias = gp_add(sums.bias, bias_share(matrix, tp));
        if ((matrix->target & targets) == 0) continue;
        sums.adapter_share = gp_add(sums.adapter_share, adapter_share(matrix, rank, tp));
        sums.adapter_whole = gp_add(sums.adapter_whole, adapter_share(matrix, rank, 1));
    }
    return sums;
}

/* Adapters of the stage. A count that the job states, and adapters on embedding and head, are spread as the
 * per-layer ones are. */
static uint64_t stage_adapters(const gp_model *model, const layer_sums *sums, int64_t layers) {
    uint64_t whole = gp_mul(sums->adapter_whole, (uint64_t)model->shape.layers);
    uint64_t share = gp_mul(sums->adapter_share, (uint64_t)layers);
    if (model->adapter_params == whole) return share;
    double part = whole > 0 ? (double)share / (double)whole : (double)layers / (double)model->shape.layers;
    return gp_bytes_from_double((double)model->adapter_params * part);
}

/* 1F1B: stage i starts p - i micro-batches before its first backward pass. Interleaved with v chunks per rank:
 * 2 (p - i - 1) + (v - 1) p + 1 chunks (Narayanan et al. 2021, arXiv:2104.04473, section 2.2, and its schedule in
 * Megatron-LM core/pipeline_parallel/schedules.py). */
static int64_t chunks_in_flight(const gp_layout *layout, int64_t stage) {
    int64_t p = layout->pp, v = layout->vpp, total = product(layout->grad_accum, v);
    int64_t held = v == 1 ? p - stage : 2 * (p - stage - 1) + (v - 1) * p + 1;
    return held < total ? held : total;
}

void gp_layout_stage(const gp_job *job, const gp_model *model, const gp_layout *layout, int64_t index,
                     gp_stage_share *share) {
    int64_t layers = model->shape.layers, pp = layout->pp, tp = layout->tp;
    uint64_t ways = (uint64_t)tp;
    *share = (gp_stage_share){.index = index, .gpus = layout->gpus / pp};
    share->layers = layers / pp + (index < layers % pp ? 1 : 0);
    share->first = index == 0;
    share->last = index == pp - 1;
    /* Every layer of a dense model is the same, so the first one stands for all. */
    const gp_layer *layer = gp_model_layer(model, 0);
    layer_sums sums = sum_layer(job, layer, &model->shape, tp);
    uint64_t layer_other = gp_add(sums.bias, layer->norm_params);
    share->layer_params = gp_add(sums.linear, layer_other);
    share->linear_params = gp_mul(sums.linear, (uint64_t)share->layers);
    share->other_params = gp_mul(layer_other, (uint64_t)share->layers);
    if (share->first) {
        share->embedding_params = gp_div_ceil(model->embedding_params, ways);
        share->other_params = gp_add(share->other_params, gp_add(share->embedding_params, model->position_params));
    }
    if (share->last) {
        bool copied = model->head_params == 0 && pp > 1;
        share->head_params = gp_div_ceil(copied ? model->embedding_params : model->head_params, ways);
        share->other_params = gp_add(share->other_params, gp_add(share->head_params, model->final_params));
    }
    share->adapter_params = stage_adapters(model, &sums, share->layers);
    share->kv_heads = at_least_one(ceil_div(at_least_one(model->shape.kv_heads), tp));
    share->in_flight = chunks_in_flight(layout, index);
}
