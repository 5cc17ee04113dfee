/* One layer of a kind: its matrices, caches, states and counts. */
#include "model/model_layer.h"

#include <stddef.h>
#include <string.h>

#include "base/quantity.h"

static const gp_tensor_row tensors[] = {
#define GP_TENSOR(id, gguf, module, target, quantised) {gguf, module, target, quantised != 0},
#include "model/tensors.def"
#undef GP_TENSOR
};

const gp_tensor_row *gp_tensor_info(gp_tensor tensor) {
    return &tensors[tensor];
}

bool gp_adapts(unsigned targets, const gp_matrix *matrix) {
    if (targets == 0) targets = GP_TARGET_ALL_LINEAR;
    if (matrix->target == GP_TARGET_MIXER) return (targets & GP_TARGET_ALL_LINEAR) == GP_TARGET_ALL_LINEAR;
    return (targets & matrix->target) != 0;
}

uint64_t gp_norm_params(gp_norm norm, int64_t width) {
    switch (norm) {
    case GP_NORM_LAYER: return gp_mul(2, (uint64_t)width);
    case GP_NORM_NONE: return 0;
    default: return (uint64_t)width;
    }
}

void gp_add_copies(gp_layer *layer, gp_tensor tensor, int64_t inputs, int64_t outputs, bool bias, gp_split split,
                   int64_t copies) {
    const gp_tensor_row *info = &tensors[tensor];
    layer->matrices[layer->matrix_count++] =
        (gp_matrix){tensor, info->target, inputs, outputs, copies, bias, split};
    uint64_t params = gp_mul((uint64_t)inputs, (uint64_t)outputs), biases = bias ? (uint64_t)outputs : 0;
    if (copies != 1) {
        params = gp_mul(params, (uint64_t)copies);
        biases = gp_mul(biases, (uint64_t)copies);
    }
    uint64_t *sum = info->quantised ? &layer->linear_params : &layer->other_params;
    *sum = gp_add(*sum, params);
    layer->bias_params = gp_add(layer->bias_params, biases);
    if (copies > 1) layer->expert_params = gp_add(layer->expert_params, gp_add(params, biases));
}

void gp_add_matrix(gp_layer *layer, gp_tensor tensor, int64_t inputs, int64_t outputs, bool bias, gp_split split) {
    gp_add_copies(layer, tensor, inputs, outputs, bias, split, 1);
}

static void add_norm(gp_layer *layer, uint64_t params) {
    layer->norm_params = gp_add(layer->norm_params, params);
}

static void add_other(gp_layer *layer, uint64_t params) {
    layer->other_params = gp_add(layer->other_params, params);
}

/* Grouped-query attention, Ainslie et al. 2023, arXiv:2305.13245: h·a·d + h·g·d + h·g·v + a·v·h, where the size v of a
 * head's values is mostly d. */
static void add_attention(const gp_shape *shape, gp_layer *layer) {
    const gp_layer_kind *kind = &layer->kind;
    int64_t hidden = shape->hidden, query = kind->heads * kind->head_dim, key = kind->kv_heads * kind->head_dim;
    int64_t value = kind->kv_heads * kind->value_dim, attended = kind->heads * kind->value_dim;
    int64_t gated = shape->q_gate ? 2 * query : query;
    bool cross = kind->attention == GP_ATTENTION_CROSS;
    bool caches = !kind->shares_kv && !cross && kind->attention != GP_ATTENTION_ENCODER;
    layer->cache_keys = caches ? key : 0;
    layer->cache_values = caches ? value : 0;
    if (kind->attention == GP_ATTENTION_SLIDING || kind->attention == GP_ATTENTION_CHUNKED) {
        layer->window = shape->sliding_window;
    }
    if (kind->borrowed) return;
    gp_add_matrix(layer, GP_TENSOR_ATTN_Q, hidden, gated, shape->qkv_bias, GP_SPLIT_COLUMN);
    bool projects = !kind->shares_kv || kind->keeps_projections;
    if (projects) {
        gp_add_matrix(layer, GP_TENSOR_ATTN_K, hidden, key, shape->qkv_bias, GP_SPLIT_KV_COLUMN);
        if (!kind->keys_are_values) {
            gp_add_matrix(layer, GP_TENSOR_ATTN_V, hidden, value, shape->qkv_bias, GP_SPLIT_KV_COLUMN);
        }
    }
    gp_add_matrix(layer, GP_TENSOR_ATTN_OUTPUT, attended, hidden, shape->output_bias, GP_SPLIT_ROW);
    if (shape->qk_norm || cross) {
        int64_t keys = !projects ? 0 : shape->qk_norm_per_head ? key : kind->head_dim;
        add_norm(layer, (uint64_t)((shape->qk_norm_per_head ? query : kind->head_dim) + keys));
    }
    if (shape->sinks) add_other(layer, (uint64_t)kind->heads);
}

/* A decoder's attention to the encoder's states, beside its own (T5). */
static void add_crossing(const gp_shape *shape, gp_layer *layer) {
    int64_t hidden = shape->hidden, query = layer->kind.heads * layer->kind.head_dim;
    gp_add_matrix(layer, GP_TENSOR_CROSS_Q, hidden, query, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_CROSS_K, hidden, query, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_CROSS_V, hidden, query, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_CROSS_OUTPUT, query, hidden, false, GP_SPLIT_ROW);
    add_norm(layer, gp_norm_params(shape->norm, hidden));
}

/* DeepSeek-V3.2's lightning indexer: queries from the query latent, one key per token, a weight per head. */
static void add_indexer(const gp_shape *shape, gp_layer *layer) {
    const gp_latent *latent = &shape->latent;
    int64_t from = latent->q_lora > 0 ? latent->q_lora : shape->hidden;
    gp_add_matrix(layer, GP_TENSOR_INDEX_Q, from, latent->index_heads * latent->index_dim, false, GP_SPLIT_COPIED);
    gp_add_matrix(layer, GP_TENSOR_INDEX_K, shape->hidden, latent->index_dim, false, GP_SPLIT_COPIED);
    gp_add_matrix(layer, GP_TENSOR_INDEX_WEIGHTS, shape->hidden, latent->index_heads, false, GP_SPLIT_COPIED);
    add_norm(layer, gp_norm_params(GP_NORM_LAYER, latent->index_dim));
    layer->cache_index = latent->index_dim;
}

/* Multi-head latent attention, DeepSeek-V2, arXiv:2405.04434, section 2.1:
 * h·r_q + r_q + r_q·a·(d_n + d_r) + h·(r_kv + d_r) + r_kv + r_kv·a·(d_n + d_v) + a·d_v·h. */
static void add_latent(const gp_shape *shape, gp_layer *layer) {
    const gp_latent *latent = &shape->latent;
    int64_t hidden = shape->hidden, heads = layer->kind.heads, query = heads * (latent->nope + latent->rope);
    if (latent->q_lora > 0) {
        gp_add_matrix(layer, GP_TENSOR_ATTN_Q_A, hidden, latent->q_lora, shape->qkv_bias, GP_SPLIT_COPIED);
        gp_add_matrix(layer, GP_TENSOR_ATTN_Q_B, latent->q_lora, query, false, GP_SPLIT_COLUMN);
        add_norm(layer, (uint64_t)latent->q_lora);
    } else {
        gp_add_matrix(layer, GP_TENSOR_ATTN_Q, hidden, query, false, GP_SPLIT_COLUMN);
    }
    int64_t cached = latent->kv_lora + latent->rope, values = heads * latent->value;
    gp_add_matrix(layer, GP_TENSOR_ATTN_KV_A, hidden, cached, shape->qkv_bias, GP_SPLIT_COPIED);
    gp_add_matrix(layer, GP_TENSOR_ATTN_KV_B, latent->kv_lora, heads * latent->nope + values, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_ATTN_OUTPUT, values, hidden, shape->output_bias, GP_SPLIT_ROW);
    if (latent->output_gate) gp_add_matrix(layer, GP_TENSOR_ATTN_GATE, hidden, values, false, GP_SPLIT_COLUMN);
    add_norm(layer, (uint64_t)latent->kv_lora);
    layer->cache_keys = cached;
    if (latent->index_heads > 0 && !layer->kind.without_index) add_indexer(shape, layer);
}

/* What turns tokens into entries: two projections, weights of a block's places and a norm. Blocks of 4 overlap: each
 * entry is made of the block's tokens and of those before it, with a projection of its own for either. The inputs of the
 * block that is not full, and their weights, are kept for each sequence. */
static void add_compressor(gp_layer *layer, gp_tensor kv, gp_tensor gate, int64_t hidden, int64_t width) {
    int64_t ratio = layer->kind.compress, parts = ratio == 4 ? 2 : 1;
    gp_add_matrix(layer, kv, hidden, parts * width, false, GP_SPLIT_COPIED);
    gp_add_matrix(layer, gate, hidden, parts * width, false, GP_SPLIT_COPIED);
    add_other(layer, (uint64_t)(parts * width * ratio));
    add_norm(layer, (uint64_t)width);
    layer->gathered = gp_add(layer->gathered, (uint64_t)(2 * parts * width));
    layer->recurrent_state = gp_add(layer->recurrent_state, (uint64_t)(parts * ratio * 2 * parts * width));
}

/* DeepSeek-V4 (github.com/ggml-org/llama.cpp src/models/deepseek4.cpp; modeling_deepseek_v4.py of the transformers
 * library): queries of low rank; one key for all heads, which is the value too; an output projection of low rank for
 * each group of heads; a sink per head. Layers that compress by 4 choose entries by an indexer. */
static void add_compressed(const gp_shape *shape, gp_layer *layer) {
    const gp_latent *latent = &shape->latent;
    int64_t hidden = shape->hidden, width = shape->head_dim, query = layer->kind.heads * width;
    int64_t inner = latent->output_groups * latent->output_lora;
    gp_add_matrix(layer, GP_TENSOR_ATTN_Q_A, hidden, latent->q_lora, false, GP_SPLIT_COPIED);
    gp_add_matrix(layer, GP_TENSOR_ATTN_Q_B, latent->q_lora, query, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_ATTN_KV, hidden, width, false, GP_SPLIT_COPIED);
    gp_add_matrix(layer, GP_TENSOR_ATTN_OUTPUT_A, query / latent->output_groups, inner, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_ATTN_OUTPUT_B, inner, hidden, false, GP_SPLIT_ROW);
    add_norm(layer, (uint64_t)(latent->q_lora + width));
    if (shape->sinks) add_other(layer, (uint64_t)layer->kind.heads);
    layer->cache_keys = width;
    layer->window = shape->sliding_window;
    if (layer->kind.compress == 0) return;
    add_compressor(layer, GP_TENSOR_COMPRESS_KV, GP_TENSOR_COMPRESS_GATE, hidden, width);
    if (layer->kind.compress != 4) return;
    int64_t heads = latent->index_heads, key = latent->index_dim;
    gp_add_matrix(layer, GP_TENSOR_INDEX_Q, latent->q_lora, heads * key, false, GP_SPLIT_COPIED);
    gp_add_matrix(layer, GP_TENSOR_INDEX_WEIGHTS, hidden, heads, false, GP_SPLIT_COPIED);
    add_compressor(layer, GP_TENSOR_INDEX_COMPRESS_KV, GP_TENSOR_INDEX_COMPRESS_GATE, hidden, key);
    layer->cache_index = key;
}

/* Manifold-constrained hyper-connections (DeepSeek-V4): for attention and feed-forward each, a projection of all s
 * streams to the weights with which they are read, written and mixed, (2 + s)·s of them, a bias of each and 3 scales. */
static void add_streams(const gp_shape *shape, gp_layer *layer) {
    int64_t streams = shape->streams, mixes = (2 + streams) * streams;
    if (streams < 2) return;
    gp_add_matrix(layer, GP_TENSOR_STREAMS_ATTN, streams * shape->hidden, mixes, false, GP_SPLIT_COPIED);
    gp_add_matrix(layer, GP_TENSOR_STREAMS_FFN, streams * shape->hidden, mixes, false, GP_SPLIT_COPIED);
    add_other(layer, (uint64_t)(2 * (mixes + 3)));
}

/* Gated FFN, Shazeer 2020, arXiv:2002.05202: 3·h·f; 2·h·f without a gate. */
static void add_dense(const gp_shape *shape, int64_t ffn, gp_layer *layer) {
    int64_t hidden = shape->hidden;
    if (shape->gated_ffn) gp_add_matrix(layer, GP_TENSOR_FFN_GATE, hidden, ffn, shape->ffn_bias, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_FFN_UP, hidden, ffn, shape->ffn_bias, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_FFN_DOWN, ffn, hidden, shape->ffn_bias, GP_SPLIT_ROW);
}

static void add_shared(const gp_shape *shape, gp_layer *layer) {
    const gp_experts *experts = &shape->experts;
    int64_t hidden = shape->hidden, ffn = experts->shared_ffn;
    if (ffn == 0) return;
    if (shape->gated_ffn) gp_add_matrix(layer, GP_TENSOR_SHARED_GATE, hidden, ffn, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_SHARED_UP, hidden, ffn, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_SHARED_DOWN, ffn, hidden, false, GP_SPLIT_ROW);
    if (experts->shared_gate) gp_add_matrix(layer, GP_TENSOR_SHARED_SWITCH, hidden, 1, false, GP_SPLIT_COPIED);
}

/* Shazeer et al. 2017, arXiv:1701.06538; shared experts: Dai et al. 2024, arXiv:2401.06066. A router of h·E, then E
 * FFNs of width f, in the latent's width where there is one. */
static void add_experts(const gp_shape *shape, gp_layer *layer) {
    const gp_experts *experts = &shape->experts;
    int64_t hidden = shape->hidden, count = experts->count, ffn = experts->ffn;
    int64_t width = experts->latent > 0 ? experts->latent : hidden;
    bool bias = experts->bias;
    gp_add_matrix(layer, GP_TENSOR_ROUTER, hidden, count, experts->router_bias, GP_SPLIT_COPIED);
    if (layer->kind.hashed) add_other(layer, gp_mul((uint64_t)experts->topk, (uint64_t)shape->vocab));
    else if (experts->correction_bias) add_other(layer, (uint64_t)count);
    if (experts->latent > 0) {
        gp_add_matrix(layer, GP_TENSOR_LATENT_DOWN, hidden, width, false, GP_SPLIT_COPIED);
        gp_add_matrix(layer, GP_TENSOR_LATENT_UP, width, hidden, false, GP_SPLIT_COPIED);
        if (experts->latent_norm) add_norm(layer, (uint64_t)width);
    }
    if (shape->gated_ffn) gp_add_copies(layer, GP_TENSOR_EXPERT_GATE, width, ffn, bias, GP_SPLIT_COLUMN, count);
    gp_add_copies(layer, GP_TENSOR_EXPERT_UP, width, ffn, bias, GP_SPLIT_COLUMN, count);
    gp_add_copies(layer, GP_TENSOR_EXPERT_DOWN, ffn, width, bias, GP_SPLIT_ROW, count);
    add_shared(shape, layer);
}

static void fill_kind(const gp_shape *shape, gp_layer_kind *kind) {
    if (kind->heads == 0) kind->heads = shape->heads;
    if (kind->kv_heads == 0) kind->kv_heads = shape->kv_heads;
    if (kind->head_dim == 0) kind->head_dim = shape->head_dim;
    if (kind->value_dim == 0) kind->value_dim = shape->value_dim > 0 ? shape->value_dim : kind->head_dim;
    if (kind->ffn == 0) kind->ffn = shape->ffn;
}

static void add_mixers(const gp_shape *shape, gp_layer *layer) {
    const gp_layer_kind *kind = &layer->kind;
    if (kind->attention == GP_ATTENTION_LATENT) {
        add_latent(shape, layer);
    } else if (kind->attention == GP_ATTENTION_COMPRESSED) {
        add_compressed(shape, layer);
    } else if (kind->attention != GP_ATTENTION_NONE) {
        add_attention(shape, layer);
    }
    if (kind->crosses) add_crossing(shape, layer);
    add_streams(shape, layer);
    if (kind->recurrence != GP_RECURRENCE_NONE) gp_add_recurrence(shape, layer);
}

/* All but the matrices, of which only the first matrix_count mean something: sizes are tried by the hundred. */
static void clear(gp_layer *layer) {
    memset(layer, 0, offsetof(gp_layer, matrices));
    layer->linear_params = layer->expert_params = layer->bias_params = layer->norm_params = layer->other_params = 0;
}

void gp_layer_build(const gp_shape *shape, const gp_layer_kind *kind, gp_layer *layer) {
    clear(layer);
    layer->kind = *kind;
    fill_kind(shape, &layer->kind);
    add_mixers(shape, layer);
    gp_feed_forward ffn = kind->feed_forward;
    if (ffn == GP_FFN_DENSE) add_dense(shape, layer->kind.ffn, layer);
    if (ffn == GP_FFN_MOE_BESIDE_DENSE) {
        add_dense(shape, shape->experts.dense_ffn > 0 ? shape->experts.dense_ffn : layer->kind.ffn, layer);
    }
    if (ffn == GP_FFN_MOE || ffn == GP_FFN_MOE_BESIDE_DENSE) add_experts(shape, layer);
    add_norm(layer, gp_mul((uint64_t)shape->norms_per_layer, gp_norm_params(shape->norm, shape->hidden)));
    add_other(layer, (uint64_t)kind->extra_params);
    layer->params = gp_add(gp_add(layer->linear_params, layer->bias_params),
                           gp_add(layer->norm_params, layer->other_params));
    uint64_t chosen = 0;
    int64_t count = shape->experts.count;
    if (layer->expert_params > 0) {
        uint64_t topk = (uint64_t)(shape->experts.topk < count ? shape->experts.topk : count);
        chosen = gp_mul(layer->expert_params / (uint64_t)count, topk);
    }
    layer->active_params = gp_add(layer->params - layer->expert_params, chosen);
}
