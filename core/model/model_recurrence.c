/* Layers whose memory does not grow with the sequence. Their vectors and convolutions count as other_params. */
#include "model/model_layer.h"
#include "base/quantity.h"

static void add_other(gp_layer *layer, int64_t params) {
    layer->other_params = gp_add(layer->other_params, (uint64_t)params);
}

/* A depthwise convolution along the sequence, and the inputs that it keeps: kernel - 1 per channel. */
static void add_convolution(const gp_state_space *ssm, gp_layer *layer, int64_t channels) {
    gp_add_matrix(layer, GP_TENSOR_SSM_CONV, ssm->kernel, channels, ssm->conv_bias, GP_SPLIT_ROW);
    layer->conv_state = gp_mul((uint64_t)(ssm->kernel - 1), (uint64_t)channels);
}

/* Gu and Dao 2023, arXiv:2312.00752, section 3.4 and algorithm 2; Jamba (arXiv:2403.19887) normalises time step, B and
 * C. */
static void add_mamba(const gp_shape *shape, gp_layer *layer) {
    const gp_state_space *ssm = &shape->recurrent;
    int64_t hidden = shape->hidden, inner = ssm->inner, state = ssm->state, rank = ssm->rank;
    gp_add_matrix(layer, GP_TENSOR_SSM_IN, hidden, 2 * inner, ssm->bias, GP_SPLIT_COLUMN);
    add_convolution(ssm, layer, inner);
    gp_add_matrix(layer, GP_TENSOR_SSM_X, inner, rank + 2 * state, false, GP_SPLIT_ROW);
    gp_add_matrix(layer, GP_TENSOR_SSM_DT, rank, inner, true, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_SSM_A, state, inner, false, GP_SPLIT_ROW);
    add_other(layer, inner);
    gp_add_matrix(layer, GP_TENSOR_SSM_OUT, inner, hidden, ssm->bias, GP_SPLIT_ROW);
    if (ssm->inner_norms) layer->norm_params = gp_add(layer->norm_params, (uint64_t)(rank + 2 * state));
    layer->recurrent_state = gp_mul((uint64_t)state, (uint64_t)inner);
}

/* Dao and Gu 2024, arXiv:2405.21060, section 7: one projection for z, x, B, C and the time step of every head; A, D and
 * a time-step bias per head; a norm over the gated output. */
static void add_mamba2(const gp_shape *shape, gp_layer *layer) {
    const gp_state_space *ssm = &shape->recurrent;
    int64_t hidden = shape->hidden, inner = ssm->inner, channels = inner + 2 * ssm->groups * ssm->state;
    gp_add_matrix(layer, GP_TENSOR_SSM_IN, hidden, inner + channels + ssm->heads, ssm->bias, GP_SPLIT_COLUMN);
    add_convolution(ssm, layer, channels);
    add_other(layer, 3 * ssm->heads);
    if (ssm->inner_norms) layer->norm_params = gp_add(layer->norm_params, (uint64_t)inner);
    gp_add_matrix(layer, GP_TENSOR_SSM_OUT, inner, hidden, ssm->bias, GP_SPLIT_ROW);
    layer->recurrent_state = gp_mul((uint64_t)ssm->state, (uint64_t)inner);
}

/* Gated delta net, Yang et al. 2024, arXiv:2412.06464; as in Qwen3-Next: q and k of key_heads, v and the output gate of
 * heads, beta and alpha one per head; A and a bias per head; a norm over one head's values. */
static void add_delta_net(const gp_shape *shape, gp_layer *layer) {
    const gp_state_space *ssm = &shape->recurrent;
    int64_t hidden = shape->hidden, inner = ssm->inner, keys = ssm->key_heads * ssm->state;
    gp_add_matrix(layer, GP_TENSOR_LINEAR_QKV, hidden, 2 * keys + inner, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_LINEAR_GATE, hidden, inner, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_LINEAR_BETA_ALPHA, hidden, 2 * ssm->heads, false, GP_SPLIT_COLUMN);
    add_convolution(ssm, layer, 2 * keys + inner);
    add_other(layer, 2 * ssm->heads);
    layer->norm_params = gp_add(layer->norm_params, (uint64_t)(inner / ssm->heads));
    gp_add_matrix(layer, GP_TENSOR_SSM_OUT, inner, hidden, false, GP_SPLIT_ROW);
    layer->recurrent_state = gp_mul((uint64_t)ssm->state, (uint64_t)inner);
}

/* Kimi delta attention, arXiv:2510.26692, section 3: q, k and v each with a convolution, a decay per channel and an
 * output gate, each through a low rank (`rank` 0: the output gate at full rank), beta per head. A is stored for a power of
 * two of heads: 32 for the 32 of Kimi-Linear, 128 for the 96 of Kimi K3 (safetensors metadata of both). */
static void add_kimi_delta(const gp_shape *shape, gp_layer *layer) {
    const gp_state_space *ssm = &shape->recurrent;
    int64_t hidden = shape->hidden, inner = ssm->inner, head = inner / ssm->heads;
    gp_add_matrix(layer, GP_TENSOR_ATTN_Q, hidden, inner, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_ATTN_K, hidden, inner, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_ATTN_V, hidden, inner, false, GP_SPLIT_COLUMN);
    add_convolution(ssm, layer, 3 * inner);
    gp_add_matrix(layer, GP_TENSOR_GATE_A, hidden, head, false, GP_SPLIT_COPIED);
    gp_add_matrix(layer, GP_TENSOR_GATE_B, head, inner, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_LINEAR_BETA_ALPHA, hidden, ssm->heads, false, GP_SPLIT_COLUMN);
    if (ssm->rank > 0) {
        gp_add_matrix(layer, GP_TENSOR_GATE_A, hidden, ssm->rank, false, GP_SPLIT_COPIED);
        gp_add_matrix(layer, GP_TENSOR_GATE_B, ssm->rank, inner, false, GP_SPLIT_COLUMN);
    } else {
        gp_add_matrix(layer, GP_TENSOR_LINEAR_GATE, hidden, inner, false, GP_SPLIT_COLUMN);
    }
    int64_t decays = 1;
    while (decays < ssm->heads) decays *= 2;
    add_other(layer, decays + inner);
    layer->norm_params = gp_add(layer->norm_params, (uint64_t)head);
    gp_add_matrix(layer, GP_TENSOR_SSM_OUT, inner, hidden, false, GP_SPLIT_ROW);
    layer->recurrent_state = gp_mul((uint64_t)head, (uint64_t)inner);
}

/* LFM2's gated short convolution: three streams in, one out (github.com/huggingface/transformers modeling_lfm2.py). */
static void add_short_conv(const gp_shape *shape, gp_layer *layer) {
    const gp_state_space *ssm = &shape->recurrent;
    int64_t hidden = shape->hidden;
    gp_add_matrix(layer, GP_TENSOR_SHORT_CONV_IN, hidden, 3 * hidden, ssm->bias, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_SHORT_CONV, ssm->kernel, hidden, ssm->bias, GP_SPLIT_ROW);
    gp_add_matrix(layer, GP_TENSOR_SHORT_CONV_OUT, hidden, hidden, ssm->bias, GP_SPLIT_ROW);
    layer->conv_state = gp_mul((uint64_t)(ssm->kernel - 1), (uint64_t)hidden);
}

/* Lightning attention, MiniMax-01, arXiv:2501.08313, section 2.2: q, k, v, a norm and a gate over the output. */
static void add_lightning(const gp_shape *shape, gp_layer *layer) {
    const gp_state_space *ssm = &shape->recurrent;
    int64_t hidden = shape->hidden, inner = ssm->inner;
    gp_add_matrix(layer, GP_TENSOR_LINEAR_QKV, hidden, 3 * inner, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_LINEAR_GATE, hidden, inner, false, GP_SPLIT_COLUMN);
    gp_add_matrix(layer, GP_TENSOR_SSM_OUT, inner, hidden, false, GP_SPLIT_ROW);
    layer->norm_params = gp_add(layer->norm_params, (uint64_t)inner);
    layer->recurrent_state = gp_mul((uint64_t)ssm->state, (uint64_t)inner);
}

void gp_add_recurrence(const gp_shape *shape, gp_layer *layer) {
    switch (layer->kind.recurrence) {
    case GP_RECURRENCE_MAMBA: add_mamba(shape, layer); break;
    case GP_RECURRENCE_MAMBA2: add_mamba2(shape, layer); break;
    case GP_RECURRENCE_DELTA_NET: add_delta_net(shape, layer); break;
    case GP_RECURRENCE_KIMI_DELTA: add_kimi_delta(shape, layer); break;
    case GP_RECURRENCE_SHORT_CONV: add_short_conv(shape, layer); break;
    case GP_RECURRENCE_LIGHTNING: add_lightning(shape, layer); break;
    case GP_RECURRENCE_NONE: break;
    }
}
