/* layout_stage.c: what one pipeline stage holds, as one of its GPUs sees it. */
#include "layout/layout_parts.h"

/* Elements of one copy of a matrix on one tensor-parallel rank. KV heads that are fewer than the ranks are copied. */
static uint64_t matrix_share(const gp_matrix *matrix, int64_t kv_heads, int64_t tp) {
    uint64_t whole = gp_mul((uint64_t)matrix->inputs, (uint64_t)matrix->outputs);
    if (matrix->split == GP_SPLIT_COPIED) return whole;
    if (matrix->split != GP_SPLIT_KV_COLUMN) return gp_div_ceil(whole, (uint64_t)tp);
    kv_heads = at_least_one(kv_heads);
    return gp_mul(whole / (uint64_t)kv_heads, (uint64_t)ceil_div(kv_heads, tp));
}

/* Biases of column-split matrices are split with their outputs, those of row-split ones are copied. */
static uint64_t bias_share(const gp_matrix *matrix, int64_t tp) {
    if (!matrix->bias) return 0;
    uint64_t outputs = (uint64_t)matrix->outputs;
    bool whole = matrix->split == GP_SPLIT_ROW || matrix->split == GP_SPLIT_COPIED;
    return whole ? outputs : gp_div_ceil(outputs, (uint64_t)tp);
}

/* Elements of the two adapter matrices on one rank: the factor on the unsplit side is copied. */
static uint64_t adapter_share(const gp_matrix *matrix, uint64_t rank, int64_t tp) {
    uint64_t inputs = (uint64_t)matrix->inputs, outputs = (uint64_t)matrix->outputs;
    uint64_t ways = matrix->split == GP_SPLIT_COPIED ? 1 : (uint64_t)tp;
    bool by_rows = matrix->split == GP_SPLIT_ROW;
    uint64_t in_share = by_rows ? gp_div_ceil(inputs, ways) : inputs;
    uint64_t out_share = by_rows ? outputs : gp_div_ceil(outputs, ways);
    return gp_mul(rank, gp_add(in_share, out_share));
}

int64_t gp_layout_shards(const gp_layout *layout) {
    int64_t ranks = product(layout->dp, layout->cp), group = layout->recipe.shard_ranks;
    return group > 0 && ranks % group == 0 ? group : ranks;
}

/* How a rank shares the routed experts: each of `ep` groups holds its part of them, split `tp` ways inside. */
typedef struct { int64_t ep, tp, ranks; } expert_split;

/* Training, Megatron-LM (core/parallel_state.py): experts are split by tensor parallelism as well where expert
 * parallelism fits into the data-parallel ranks, else they stay whole; what remains are copies. Serving (vLLM, SGLang):
 * the ranks of expert parallelism are those of tensor and data parallelism together. */
static expert_split split_experts(const gp_job *job, const gp_layout *layout) {
    int64_t ranks = product(layout->dp, layout->cp), ep = layout->ep;
    if (ep <= 1) return (expert_split){1, layout->attention.expert_tp, ranks};
    int64_t served = layout->attention.expert_tp;
    if (!gp_is_training(job)) return (expert_split){ep, served > ep && served % ep == 0 ? served / ep : 1, 1};
    if (ranks % ep == 0) return (expert_split){ep, layout->tp, ranks / ep};
    return (expert_split){ep, 1, at_least_one(product(ranks, layout->tp) / ep)};
}

typedef struct { uint64_t linear, expert, other, adapter_share, adapter_whole; } layer_sums;

static void add_matrix(const gp_job *job, const gp_matrix *matrix, const gp_layer *layer, const gp_layout *layout,
                       const expert_split *split, layer_sums *sums) {
    bool expert = matrix->copies > 1;
    int64_t ways = expert ? split->tp : gp_layout_ways(layout, matrix->tensor);
    int64_t copies = ceil_div(matrix->copies, expert ? split->ep : 1);
    uint64_t params = gp_mul((uint64_t)copies, matrix_share(matrix, layer->kind.kv_heads, ways));
    bool quantised = gp_tensor_info(matrix->tensor)->quantised;
    if (quantised) sums->linear = gp_add(sums->linear, params);
    if (quantised && expert) sums->expert = gp_add(sums->expert, params);
    if (!quantised) sums->other = gp_add(sums->other, params);
    sums->other = gp_add(sums->other, gp_mul((uint64_t)copies, bias_share(matrix, ways)));
    if (!gp_is_adapter(job) || !gp_adapts(job->lora_targets, matrix)) return;
    uint64_t rank = (uint64_t)gp_whole(job, GP_FIELD_LORA_RANK);
    uint64_t share = gp_mul((uint64_t)copies, adapter_share(matrix, rank, ways));
    uint64_t whole = gp_mul((uint64_t)matrix->copies, adapter_share(matrix, rank, 1));
    sums->adapter_share = gp_add(sums->adapter_share, share);
    sums->adapter_whole = gp_add(sums->adapter_whole, whole);
}

/* Norms and vectors are copied. */
static layer_sums sum_layer(const gp_job *job, const gp_layer *layer, const gp_layout *layout, const expert_split *split) {
    layer_sums sums = {.other = gp_add(layer->norm_params, layer->other_params)};
    for (int i = 0; i < layer->matrix_count; i++) {
        const gp_matrix *matrix = &layer->matrices[i];
        if (!gp_tensor_info(matrix->tensor)->quantised)
            sums.other = gp_sub_or_zero(sums.other, gp_mul((uint64_t)matrix->inputs, (uint64_t)matrix->outputs));
        add_matrix(job, matrix, layer, layout, split, &sums);
    }
    return sums;
}

/* Adapters of the stage. A count that the job states, and adapters on embedding and head, are spread as the
 * per-layer ones are. */
static uint64_t stage_adapters(const gp_model *model, uint64_t share, uint64_t whole, int64_t layers) {
    if (model->adapter_params == whole) return share;
    double part = whole > 0 ? (double)share / (double)whole : (double)layers / (double)model->shape.layers;
    return gp_bytes_from_double((double)model->adapter_params * part);
}

/* 1F1B: stage i starts p - i micro-batches before its first backward pass. Interleaved with v chunks per rank:
 * 2 (p - i - 1) + (v - 1) p + 1 chunks (Narayanan et al. 2021, arXiv:2104.04473, section 2.2, and its schedule in
 * Megatron-LM core/pipeline_parallel/schedules.py). GPipe (Huang et al. 2019, arXiv:1811.06965, section 2.3) holds them
 * all, the zero-bubble V (Qi et al. 2024, arXiv:2405.15362, section 4) on each stage what 1F1B holds on the first. The
 * zero-bubble H1 puts off the gradients of weights (Qi et al. 2023, arXiv:2401.10241, section 2.3): stage i holds p - i
 * micro-batches, and of i more the inputs and output gradients of the matrix products, which are as much again. DualPipe
 * (DeepSeek-AI 2024, arXiv:2412.19437, table 2) holds one more than there are stages. */
static int64_t chunks_in_flight(const gp_layout *layout, int64_t stage) {
    int64_t p = layout->pp, v = layout->vpp, total = product(layout->grad_accum, v);
    if (layout->device_map) return 1;
    if (layout->all_in_flight) return total;
    if (layout->both_ways) return (p + 1) * v < total ? (p + 1) * v : total;
    int64_t held = layout->level ? p * v : v == 1 ? p - stage : 2 * (p - stage - 1) + (v - 1) * p + 1;
    return held < total ? held : total;
}

static void add_layers(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_share *share) {
    int64_t here[GP_KINDS_MAX];
    uint64_t adapters = 0, all_adapters = 0;
    expert_split split = split_experts(job, layout);
    gp_model_kinds_of(model, share->first_layer, share->layers, here);
    const gp_shape *shape = &model->shape;
    if (share->mtp > 0)
        here[shape->mtp_kind_count > 0 ? shape->mtp_kinds[0] : gp_shape_kind(shape, shape->layers - 1)] += share->mtp;
    for (int i = 0; i < model->kind_count; i++) {
        layer_sums sums = sum_layer(job, &model->kinds[i], layout, &split);
        uint64_t layers = (uint64_t)here[i], one = gp_add(sums.linear, sums.other);
        if (here[i] > 0 && one > share->layer_params) share->layer_params = one;
        share->linear_params = gp_add(share->linear_params, gp_mul(sums.linear, layers));
        share->expert_params = gp_add(share->expert_params, gp_mul(sums.expert, layers));
        share->other_params = gp_add(share->other_params, gp_mul(sums.other, layers));
        adapters = gp_add(adapters, gp_mul(sums.adapter_share, layers));
        all_adapters = gp_add(all_adapters, gp_mul(sums.adapter_whole, (uint64_t)model->kind_layers[i]));
    }
    share->local_experts = ceil_div(model->shape.experts.count, split.ep);
    share->expert_ranks = split.ranks;
    share->adapter_params = stage_adapters(model, adapters, all_adapters, share->layers);
}

/* Of prediction modules beside their layers: the projection of two hidden rows to one and three norms; they share the
 * output matrix, and the token table, of which the last stage then has a copy (Megatron-LM
 * core/transformer/multi_token_prediction.py). */
static void add_prediction(const gp_model *model, const gp_layout *layout, gp_stage_share *share) {
    uint64_t hidden = (uint64_t)model->shape.hidden, modules = (uint64_t)share->mtp, ways = (uint64_t)layout->attention.tp;
    if (modules == 0) return;
    share->linear_params = gp_add(share->linear_params, gp_mul(modules, gp_div_ceil(gp_mul3(2, hidden, hidden), ways)));
    share->other_params = gp_add(share->other_params, gp_mul3(3, modules, hidden));
    bool apart = !share->first && model->head_params > 0;
    if (apart) share->other_params = gp_add(share->other_params, gp_div_ceil(model->embedding_params, ways));
}

/* Towers stand before the first layer and are split like the rest. */
static void add_ends(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_share *share) {
    uint64_t ways = (uint64_t)layout->attention.tp;
    if (share->first) {
        uint64_t towers = gp_div_ceil(gp_add(model->vision_params, model->audio_params), ways);
        share->embedding_params = gp_div_ceil(model->embedding_params, ways);
        share->other_params = gp_add(share->other_params, gp_add(share->embedding_params, model->position_params));
        share->other_params = gp_add(share->other_params, towers);
    }
    if (!share->last) return;
    bool copied = model->head_params == 0 && layout->pp > 1 && !layout->turned;
    share->head_params = gp_div_ceil(copied ? model->embedding_params : model->head_params,
                                     (uint64_t)layout->attention.feed_forward_tp);
    share->other_params = gp_add(share->other_params, gp_add(share->head_params, model->final_params));
    if (gp_is_training(job)) add_prediction(model, layout, share);
}

/* The other stage of a GPU in a pipeline that runs both ways. */
static void add_mirror(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_share *share) {
    gp_stage_share other = {.index = layout->pp - 1 - share->index, .first = share->last, .last = share->first};
    other.layers = gp_layout_layers(model, layout, other.index, &other.first_layer);
    other.mtp = other.last ? layout->mtp : 0;
    add_layers(job, model, layout, &other);
    add_ends(job, model, layout, &other);
    share->copies = 2;
    share->mtp += other.mtp;
    share->first = share->last = share->first || share->last;
    share->linear_params = gp_add(share->linear_params, other.linear_params);
    share->other_params = gp_add(share->other_params, other.other_params);
    share->embedding_params = gp_add(share->embedding_params, other.embedding_params);
    share->head_params = gp_add(share->head_params, other.head_params);
    share->expert_params = gp_add(share->expert_params, other.expert_params);
    share->adapter_params = gp_add(share->adapter_params, other.adapter_params);
    if (other.layer_params > share->layer_params) share->layer_params = other.layer_params;
}

void gp_layout_stage(const gp_job *job, const gp_model *model, const gp_layout *layout, int64_t index,
                     gp_stage_share *share) {
    *share = (gp_stage_share){.index = index, .gpus = layout->gpus / layout->pp, .copies = 1};
    share->layers = gp_layout_layers(model, layout, index, &share->first_layer);
    share->first = index == 0;
    share->last = index == (layout->turned ? 0 : layout->pp - 1);
    share->mtp = share->last ? layout->mtp : 0;
    add_layers(job, model, layout, share);
    add_ends(job, model, layout, share);
    if (layout->both_ways) add_mirror(job, model, layout, share);
    share->kv_heads = at_least_one(ceil_div(at_least_one(model->shape.kv_heads), layout->attention.tp));
    share->in_flight = chunks_in_flight(layout, index);
}
