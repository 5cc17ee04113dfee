/* Parameter counts: the layers of each kind, and what stands around them. */
#include <string.h>

#include "model/model_layer.h"
#include "base/quantity.h"

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

static uint64_t layer_adapters(const gp_shape *shape, const gp_layer *layer, unsigned targets, uint64_t rank) {
    uint64_t params = 0;
    unsigned previous = 0;
    for (int i = 0; i < layer->matrix_count; i++) {
        const gp_matrix *matrix = &layer->matrices[i];
        unsigned group = adapter_group(shape, matrix->target);
        bool fused = group == previous && group != matrix->target;
        int64_t inputs = fused ? 0 : matrix->inputs;
        gp_matrix grouped = *matrix;
        grouped.target = group;
        if (gp_adapts(targets, &grouped)) {
            uint64_t one = adapter_of(rank, inputs, matrix->outputs);
            params = gp_add(params, gp_mul(one, (uint64_t)matrix->copies));
        }
        previous = group;
    }
    return params;
}

/* A count as people write it, "4,279,744"; 0 when the text says something else. */
static uint64_t count_in_text(const char *text) {
    uint64_t count = 0;
    for (; text != NULL && *text != '\0'; text++) {
        if (*text == ',') continue;
        if (*text < '0' || *text > '9' || count > GP_EXACT_MAX / 10) return 0;
        count = 10 * count + (uint64_t)(*text - '0');
    }
    return count;
}

static uint64_t count_adapters(const gp_job *job, const gp_model *model) {
    const gp_shape *shape = &model->shape;
    if (gp_known(job, GP_FIELD_LORA_TRAINABLE_PARAMS)) return (uint64_t)gp_whole(job, GP_FIELD_LORA_TRAINABLE_PARAMS);
    uint64_t stated = gp_known(job, GP_FIELD_LORA_TRAINABLE) ? count_in_text(job->settings[GP_FIELD_LORA_TRAINABLE].text) : 0;
    if (stated > 0) return stated;
    unsigned targets = job->lora_targets;
    uint64_t rank = (uint64_t)gp_whole(job, GP_FIELD_LORA_RANK), params = 0;
    for (int i = 0; i < model->kind_count; i++) {
        uint64_t one = layer_adapters(shape, &model->kinds[i], targets, rank);
        params = gp_add(params, gp_mul((uint64_t)model->kind_layers[i], one));
    }
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

/* Where several streams end: a projection to a weight of each, their biases and a scale. */
static uint64_t stream_head(const gp_shape *shape) {
    uint64_t streams = (uint64_t)shape->streams;
    if (streams < 2) return 0;
    return gp_add(gp_mul3(streams, streams, (uint64_t)shape->hidden), streams + 1);
}

static void count_ends(gp_model *model) {
    const gp_shape *shape = &model->shape;
    uint64_t hidden = (uint64_t)shape->hidden, vocab = (uint64_t)shape->vocab;
    uint64_t width = shape->embedding_dim > 0 ? (uint64_t)shape->embedding_dim : hidden;
    uint64_t norms = (uint64_t)(shape->final_norm ? 1 : 0) + (uint64_t)(shape->embedding_norm ? 1 : 0);
    model->embedding_params = gp_mul(vocab, width);
    model->position_params = gp_mul((uint64_t)shape->learned_positions, hidden);
    model->head_params = shape->tied_embeddings ? 0 : gp_add(gp_mul(vocab, width), shape->head_bias ? vocab : 0);
    model->final_params = gp_add(gp_mul(norms, gp_norm_params(shape->norm, shape->hidden)),
                                 (uint64_t)shape->extra_params);
    model->final_params = gp_add(model->final_params, stream_head(shape));
    if (shape->embedding_dim > 0) model->final_params = gp_add(model->final_params, gp_mul3(2, width, hidden));
    model->vision_params = (uint64_t)shape->vision_params;
    model->audio_params = (uint64_t)shape->audio_params;
}

/* DeepSeek-V3, arXiv:2412.19437, section 2.2: a transformer block and a projection of 2h to h; where there are several
 * streams, an end of them. */
static void count_mtp(gp_model *model) {
    const gp_shape *shape = &model->shape;
    uint64_t hidden = (uint64_t)shape->hidden;
    uint64_t one = gp_add(gp_mul3(2, hidden, hidden), gp_mul((uint64_t)shape->mtp_norms, hidden));
    for (int i = 0; i < shape->mtp_kind_count; i++) one = gp_add(one, model->kinds[shape->mtp_kinds[i]].params);
    one = gp_add(one, stream_head(shape));
    if (shape->mtp_copies) one = gp_add(one, gp_add(model->embedding_params, model->head_params));
    model->mtp_params = gp_mul((uint64_t)shape->mtp_layers, one);
}

static void count_layers(gp_model *model) {
    const gp_shape *shape = &model->shape;
    model->kind_count = shape->kind_count > 1 ? shape->kind_count : 1;
    gp_model_kinds_of(model, 0, shape->layers, model->kind_layers);
    model->expert_params = model->total_params = model->active_params = 0;
    for (int i = 0; i < model->kind_count; i++) {
        gp_layer *layer = &model->kinds[i];
        uint64_t count = (uint64_t)model->kind_layers[i];
        gp_layer_build(shape, &shape->kinds[i], layer);
        model->expert_params = gp_add(model->expert_params, gp_mul(count, layer->expert_params));
        model->total_params = gp_add(model->total_params, gp_mul(count, layer->params));
        model->active_params = gp_add(model->active_params, gp_mul(count, layer->active_params));
    }
}

void gp_model_count(const gp_job *job, gp_model *model) {
    count_ends(model);
    count_layers(model);
    count_mtp(model);
    uint64_t around = gp_add(gp_add(model->embedding_params, model->position_params),
                             gp_add(model->head_params, model->final_params));
    uint64_t beside = gp_add(gp_add(model->vision_params, model->audio_params),
                             model->shape.mtp_counted ? model->mtp_params : 0);
    model->active_params = gp_add(model->active_params, around);
    model->total_params = gp_add(gp_add(model->total_params, around), beside);
    count_trainable(job, model);
}

const gp_layer *gp_model_layer(const gp_model *model, int64_t index) {
    return &model->kinds[gp_shape_kind(&model->shape, index)];
}

void gp_model_kinds_of(const gp_model *model, int64_t first, int64_t count, int64_t layers[GP_KINDS_MAX]) {
    memset(layers, 0, GP_KINDS_MAX * sizeof layers[0]);
    int64_t mapped = model->shape.kind_count > 1 ? GP_MAPPED_LAYERS - first : 0;
    if (mapped > count) mapped = count;
    if (mapped < 0) mapped = 0;
    for (int64_t i = 0; i < mapped; i++) layers[gp_shape_kind(&model->shape, first + i)]++;
    layers[0] += count - mapped;
}
