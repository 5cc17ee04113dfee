/* Parameter counts: the matrices of a layer, its biases and norms, and what stands around the layers. */
#include <string.h>

#include "model.h"
#include "quantity.h"

/* Width of one norm's parameters: LayerNorm has a weight and a bias, RMSNorm a weight.
 * Ba et al. 2016, arXiv:1607.06450, eq. 4; Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4. */
static uint64_t norm_params(gp_norm norm, int64_t width) {
    switch (norm) {
    case GP_NORM_LAYER: return gp_mul(2, (uint64_t)width);
    case GP_NORM_NONE: return 0;
    default: return (uint64_t)width;
    }
}

static void add_matrix(gp_layer *layer, unsigned target, int64_t inputs, int64_t outputs, bool bias, gp_split split) {
    layer->matrices[layer->matrix_count++] = (gp_matrix){target, inputs, outputs, bias, split};
    layer->linear_params = gp_add(layer->linear_params, gp_mul((uint64_t)inputs, (uint64_t)outputs));
    if (bias) layer->bias_params = gp_add(layer->bias_params, (uint64_t)outputs);
}

/* Grouped-query attention, Ainslie et al. 2023, arXiv:2305.13245; gated FFN, Shazeer 2020, arXiv:2002.05202:
 * h·a·d + 2·h·g·d + a·d·h + 3·h·f (2·h·f without a gate). */
static void count_layer(const gp_shape *shape, gp_layer *layer) {
    int64_t hidden = shape->hidden, ffn = shape->ffn;
    int64_t query = shape->heads * shape->head_dim, key = shape->kv_heads * shape->head_dim;
    memset(layer, 0, sizeof *layer);
    add_matrix(layer, GP_TARGET_Q, hidden, query, shape->qkv_bias, GP_SPLIT_COLUMN);
    add_matrix(layer, GP_TARGET_K, hidden, key, shape->qkv_bias, GP_SPLIT_KV_COLUMN);
    add_matrix(layer, GP_TARGET_V, hidden, key, shape->qkv_bias, GP_SPLIT_KV_COLUMN);
    add_matrix(layer, GP_TARGET_O, query, hidden, shape->output_bias, GP_SPLIT_ROW);
    if (shape->gated_ffn) add_matrix(layer, GP_TARGET_GATE, hidden, ffn, shape->ffn_bias, GP_SPLIT_COLUMN);
    add_matrix(layer, GP_TARGET_UP, hidden, ffn, shape->ffn_bias, GP_SPLIT_COLUMN);
    add_matrix(layer, GP_TARGET_DOWN, ffn, hidden, shape->ffn_bias, GP_SPLIT_ROW);
    layer->norm_params = gp_mul((uint64_t)shape->norms_per_layer, norm_params(shape->norm, hidden));
    if (!shape->qk_norm) return;
    uint64_t widths = (uint64_t)(shape->qk_norm_per_head ? query + key : 2 * shape->head_dim);
    layer->norm_params = gp_add(layer->norm_params, widths);
}

/* LoRA (Hu et al. 2021, arXiv:2106.09685, section 4.1): r·(in + out) for each adapted matrix. */
static uint64_t adapter_of(uint64_t rank, int64_t inputs, int64_t outputs) {
    return gp_mul(rank, gp_add((uint64_t)inputs, (uint64_t)outputs));
}

/* The matrices that are stored as one with `target`: they take one adapter with the outputs of all. */
static unsigned adapter_group(const gp_shape *shape, unsigned target) {
    unsigned qkv = GP_TARGET_Q | GP_TARGET_K | GP_TARGET_V, gate_up = GP_TARGET_GATE | GP_TARGET_UP;
    if (shape->fused_qkv && (target & qkv) != 0) return qkv;
    if (shape->fused_gate_up && (target & gate_up) != 0) return gate_up;
    return target;
}

static uint64_t layer_adapters(const gp_model *model, unsigned targets, uint64_t rank) {
    const gp_layer *layer = &model->dense_layer;
    uint64_t params = 0;
    unsigned previous = 0;
    for (int i = 0; i < layer->matrix_count; i++) {
        const gp_matrix *matrix = &layer->matrices[i];
        unsigned group = adapter_group(&model->shape, matrix->target);
        int64_t inputs = group == previous ? 0 : matrix->inputs;
        if ((targets & group) != 0) params = gp_add(params, adapter_of(rank, inputs, matrix->outputs));
        previous = group;
    }
    return params;
}

static uint64_t count_adapters(const gp_job *job, const gp_model *model) {
    const gp_shape *shape = &model->shape;
    if (gp_known(job, GP_FIELD_LORA_TRAINABLE_PARAMS)) return (uint64_t)gp_whole(job, GP_FIELD_LORA_TRAINABLE_PARAMS);
    unsigned targets = job->lora_targets == 0 ? GP_TARGET_ALL_LINEAR : job->lora_targets;
    uint64_t rank = (uint64_t)gp_whole(job, GP_FIELD_LORA_RANK);
    uint64_t params = gp_mul((uint64_t)shape->layers, layer_adapters(model, targets, rank));
    int64_t width = shape->embedding_dim > 0 ? shape->embedding_dim : shape->hidden;
    if ((targets & GP_TARGET_EMBEDDING) != 0) params = gp_add(params, adapter_of(rank, shape->vocab, width));
    if ((targets & GP_TARGET_HEAD) != 0) params = gp_add(params, adapter_of(rank, width, shape->vocab));
    return params;
}

static void count_trainable(const gp_job *job, gp_model *model) {
    model->adapter_params = 0;
    model->trainable_params = 0;
    if (job == NULL || !gp_is_training(job)) return;
    if (gp_is_adapter(job)) model->adapter_params = count_adapters(job, model);
    model->trainable_params = gp_is_adapter(job) ? model->adapter_params : model->total_params;
}

void gp_model_count(const gp_job *job, gp_model *model) {
    const gp_shape *shape = &model->shape;
    uint64_t hidden = (uint64_t)shape->hidden, vocab = (uint64_t)shape->vocab;
    uint64_t width = shape->embedding_dim > 0 ? (uint64_t)shape->embedding_dim : hidden;
    count_layer(shape, &model->dense_layer);
    model->embedding_params = gp_mul(vocab, width);
    model->position_params = gp_mul((uint64_t)shape->learned_positions, hidden);
    model->head_params = shape->tied_embeddings ? 0 : gp_add(gp_mul(vocab, width), shape->head_bias ? vocab : 0);
    model->final_params = 0;
    if (shape->final_norm) model->final_params = norm_params(shape->norm, shape->hidden);
    if (shape->embedding_norm) {
        model->final_params = gp_add(model->final_params, norm_params(shape->norm, shape->hidden));
    }
    if (shape->embedding_dim > 0) model->final_params = gp_add(model->final_params, gp_mul3(2, width, hidden));

    const gp_layer *layer = &model->dense_layer;
    uint64_t one = gp_add(gp_add(layer->linear_params, layer->bias_params), layer->norm_params);
    uint64_t around = gp_add(gp_add(model->embedding_params, model->position_params),
                             gp_add(model->head_params, model->final_params));
    model->total_params = gp_add(gp_mul((uint64_t)shape->layers, one), around);
    count_trainable(job, model);
}

const gp_layer *gp_model_layer(const gp_model *model, int64_t index) {
    (void)index;
    return &model->dense_layer;
}
