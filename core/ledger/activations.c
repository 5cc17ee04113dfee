#include "ledger/activations.h"

#include <math.h>
#include <stddef.h>

/* A tensor that forward keeps. Its size per token is a width of the layer times bytes per element, which depend on how
 * numbers are held: 16-bit parameters, fp32 parameters, or autocast over fp32 parameters. */
typedef enum {
    WIDTH_TOKEN, WIDTH_HIDDEN, WIDTH_QUERY, WIDTH_KV, WIDTH_VALUE, WIDTH_OUTPUT, WIDTH_HEADS, WIDTH_KV_HEADS,
    WIDTH_SCORES, WIDTH_FFN, WIDTH_LATENTS, WIDTH_ROUTED, WIDTH_EXPERTS, WIDTH_CHOICES,
    WIDTH_ROUTER, WIDTH_MIXER, WIDTH_COUNT
} width;

/* When a tensor is kept: every bit of `when` must hold for the job. */
enum {
    FUSED = 1 << 0, EAGER = 1 << 1,
    RMS_NORM = 1 << 2, LAYER_NORM = 1 << 3,
    GATED = 1 << 4, PLAIN = 1 << 5,
    FLASH = 1 << 6, SCORES = 1 << 7,
    NATIVE_GQA = 1 << 8, EXPANDED = 1 << 9, /* keys and values repeated to every query head before attention */
    TRAINED = 1 << 10, FROZEN = 1 << 11,
    DROPOUT = 1 << 12,
    QK_NORM = 1 << 13,
    ELEMENTWISE_GELU = 1 << 14, FUSED_GELU = 1 << 15,
    MEAN_INPUT = 1 << 17, /* the norm's mean keeps its input (PyTorch before 2.0) */
    FUSED_QKV = 1 << 18, /* values are a view of the product that holds queries and keys before their rotation too */
    CONTEXT = 1 << 20,   /* context parallelism of Transformer Engine from 2.8 keeps the output before its exchange too */
    WIDE_CASTS = 1 << 21, /* 8-bit products, operator by operator */
    WIDE_NORM = 1 << 24, /* a norm multiplies in fp32: what it keeps for its weight is not narrowed first */
    CAPPED = 1 << 25,    /* tanh of the scores is kept */
    SCALED = 1 << 19,    /* a trained scale keeps the output of every matrix product */
    RESIDUAL_DROPOUT = 1 << 22, /* of what each block adds to the residual stream: GPT layers, and any in Megatron */
    INPUTS = 1 << 16 /* inputs of matrix products are kept: for a trained weight's gradient, or by a packed product */
};
/* What a recompute policy makes of it. */
enum {
    PER_NORM = 1 << 0,  /* once per norm of the layer */
    CORE = 1 << 1,      /* dropped when the attention core is recomputed (Megatron's selective) */
    OPS = 1 << 2,       /* also kept by the per-operator policy: every other matrix product and the attention output */
    OPS_ONLY = 1 << 3,  /* kept by that policy only: outputs and inputs that backward itself would not need */
    NORMS = 1 << 4, ACTIVATION = 1 << 5, FEED_FORWARD = 1 << 6, ATTENTION = 1 << 7 /* GP_PART_*, in bits from 4 on */
};

typedef struct {
    width width;
    double bytes[GP_NUMERICS_COUNT];
    unsigned when, policy;
} tensor;

/* Sources: Korthikanti et al. 2022, arXiv:2205.05198, section 4.1 and table 2 (GPT layers, tensor and sequence
 * parallelism); github.com/NVIDIA/Megatron-LM and Transformer Engine (fused norms, SwiGLU, FlashAttention);
 * github.com/huggingface/transformers modeling_llama.py, modeling_gpt2.py, modeling_qwen3.py (order of the eager
 * operators), PyTorch tools/autograd/derivatives.yaml (what each of them saves);
 * github.com/pytorch/torchtitan distributed/activation_checkpoint.py (the per-operator policy). */
static const tensor tensors[] = {
    /* Norms: input, statistics, normalised value, and the output, which the next matrix products keep. */
    {WIDTH_HIDDEN, {2, 4, 4}, FUSED, PER_NORM},
    {WIDTH_HIDDEN, {2, 4, 2}, FUSED | INPUTS, PER_NORM | NORMS},
    {WIDTH_HIDDEN, {4, 4, 4}, EAGER | RMS_NORM, PER_NORM},
    {WIDTH_TOKEN, {4, 4, 4}, EAGER | RMS_NORM, PER_NORM},
    {WIDTH_HIDDEN, {2, 4, 4}, EAGER | RMS_NORM | TRAINED, PER_NORM},
    {WIDTH_HIDDEN, {2, 0, 0}, EAGER | RMS_NORM | TRAINED | WIDE_NORM, PER_NORM},
    {WIDTH_HIDDEN, {2, 4, 5}, EAGER | RMS_NORM | INPUTS, PER_NORM | NORMS},
    {WIDTH_HIDDEN, {4, 4, 4}, EAGER | RMS_NORM | MEAN_INPUT, PER_NORM},
    {WIDTH_HIDDEN, {2, 4, 4}, EAGER | LAYER_NORM, PER_NORM},
    {WIDTH_TOKEN, {8, 8, 8}, EAGER | LAYER_NORM, PER_NORM},
    {WIDTH_HIDDEN, {2, 4, 2}, EAGER | LAYER_NORM | INPUTS, PER_NORM | NORMS},
    /* Attention: queries, keys, values, output. */
    {WIDTH_QUERY, {2, 4, 2}, 0, OPS | ATTENTION},
    {WIDTH_KV, {2, 4, 2}, NATIVE_GQA, ATTENTION},
    {WIDTH_VALUE, {2, 4, 2}, NATIVE_GQA, OPS | ATTENTION},
    {WIDTH_QUERY, {2, 4, 2}, EXPANDED, ATTENTION},
    {WIDTH_OUTPUT, {2, 4, 2}, EXPANDED, ATTENTION},
    {WIDTH_VALUE, {2, 4, 2}, EXPANDED, OPS | OPS_ONLY},
    {WIDTH_OUTPUT, {2, 4, 2}, FLASH, OPS | ATTENTION},
    {WIDTH_OUTPUT, {2, 4, 2}, SCORES | INPUTS, OPS | ATTENTION},
    {WIDTH_HEADS, {4, 4, 4}, FLASH, OPS | ATTENTION},
    {WIDTH_OUTPUT, {2, 4, 2}, FLASH | CONTEXT, ATTENTION},
    {WIDTH_QUERY, {2, 4, 2}, FUSED_QKV, ATTENTION},
    {WIDTH_KV, {2, 4, 2}, FUSED_QKV, ATTENTION},
    /* 8-bit products without a compiler (github.com/pytorch/ao torchao/float8/float8_scaling_utils.py): of each input
     * the scaled copy in 16 bits, which the clamp keeps, and the 8-bit one. Five of them have the hidden width. */
    {WIDTH_HIDDEN, {15, 15, 15}, WIDE_CASTS, OPS},
    {WIDTH_OUTPUT, {3, 3, 3}, WIDE_CASTS, OPS},
    {WIDTH_FFN, {3, 3, 3}, WIDE_CASTS, OPS},
    /* Adapter v2 (github.com/Lightning-AI/litgpt litgpt/adapter_v2.py): scale * (product + bias). */
    {WIDTH_QUERY, {2, 4, 2}, SCALED, 0},
    {WIDTH_KV, {2, 4, 2}, SCALED, 0},
    {WIDTH_VALUE, {2, 4, 2}, SCALED, 0},
    {WIDTH_HIDDEN, {4, 8, 4}, SCALED, 0},
    {WIDTH_FFN, {4, 8, 4}, SCALED | GATED, 0},
    {WIDTH_FFN, {2, 4, 2}, SCALED | PLAIN, 0},
    /* Attention without a fused kernel: probabilities in fp32 with a 16-bit copy, or in the model's own type. */
    {WIDTH_SCORES, {2, 4, 2}, SCORES | FUSED, CORE | ATTENTION},
    {WIDTH_SCORES, {6, 4, 6}, SCORES | EAGER | RMS_NORM, CORE | ATTENTION},
    {WIDTH_SCORES, {2, 4, 2}, SCORES | EAGER | CAPPED, CORE | ATTENTION},
    {WIDTH_SCORES, {2, 4, 6}, SCORES | EAGER | LAYER_NORM, CORE | ATTENTION},
    {WIDTH_SCORES, {3, 5, 1}, SCORES | DROPOUT | LAYER_NORM, CORE | ATTENTION},
    {WIDTH_SCORES, {1, 5, 1}, SCORES | DROPOUT | RMS_NORM, CORE | ATTENTION},
    /* Norms over the heads of queries and keys. */
    {WIDTH_QUERY, {2, 4, 2}, QK_NORM | FUSED, 0},
    {WIDTH_KV, {2, 4, 2}, QK_NORM | FUSED, 0},
    {WIDTH_QUERY, {4, 4, 4}, QK_NORM | EAGER, 0},
    {WIDTH_KV, {4, 4, 4}, QK_NORM | EAGER, 0},
    {WIDTH_QUERY, {2, 4, 2}, QK_NORM | EAGER | TRAINED, 0},
    {WIDTH_KV, {2, 4, 2}, QK_NORM | EAGER | TRAINED, 0},
    {WIDTH_HEADS, {4, 4, 4}, QK_NORM, 0},
    {WIDTH_KV_HEADS, {4, 4, 4}, QK_NORM, 0},
    /* Latent attention: the latents, before and after their norms. */
    {WIDTH_LATENTS, {4, 8, 6}, 0, 0},
    /* Experts: tokens in the experts' order and their outputs before they are put back; per expert the router's logits
     * and, fused, the map of choices (Megatron-LM core/transformer/moe). Eager (transformers modeling_mixtral.py), the
     * outputs also weighted, and per choice its indices and weights. */
    {WIDTH_ROUTED, {2, 4, 2}, INPUTS, FEED_FORWARD},
    {WIDTH_ROUTED, {2, 4, 2}, 0, OPS | FEED_FORWARD},
    {WIDTH_ROUTED, {2, 4, 2}, EAGER, FEED_FORWARD},
    {WIDTH_EXPERTS, {12, 12, 12}, FUSED, 0},
    {WIDTH_EXPERTS, {4, 4, 4}, EAGER, 0},
    {WIDTH_CHOICES, {30, 32, 30}, EAGER, 0},
    {WIDTH_ROUTER, {4, 4, 4}, EAGER, 0},
    /* Recurrent layers: their projections, convolutions and gated outputs. */
    {WIDTH_MIXER, {2, 4, 2}, 0, OPS},
    /* Feed-forward: gate, its activation (a separate operator unless fused), up, and the product. */
    {WIDTH_FFN, {2, 4, 2}, GATED, OPS | FEED_FORWARD},
    {WIDTH_FFN, {2, 4, 2}, GATED, FEED_FORWARD},
    {WIDTH_FFN, {2, 4, 2}, GATED | EAGER, ACTIVATION | FEED_FORWARD},
    {WIDTH_FFN, {2, 4, 2}, GATED | INPUTS, ACTIVATION | FEED_FORWARD},
    {WIDTH_FFN, {2, 4, 2}, PLAIN | FUSED_GELU, OPS | FEED_FORWARD},
    {WIDTH_FFN, {2, 4, 2}, PLAIN | FUSED_GELU | INPUTS, ACTIVATION | FEED_FORWARD},
    {WIDTH_FFN, {10, 20, 16}, PLAIN | ELEMENTWISE_GELU, OPS | FEED_FORWARD},
    /* Dropout after attention and after the feed-forward block: one byte of mask each. */
    {WIDTH_HIDDEN, {2, 2, 2}, RESIDUAL_DROPOUT, 0},
    /* The per-operator policy: the layer's input and the output of the last matrix product, for which backward has no
     * use: a compiler drops it. */
    {WIDTH_HIDDEN, {2, 4, 4}, 0, OPS | OPS_ONLY},
    {WIDTH_HIDDEN, {2, 4, 2}, EAGER, OPS | OPS_ONLY},
};
enum { TENSOR_COUNT = sizeof tensors / sizeof tensors[0] };

static unsigned conditions_of(const gp_job *job, const gp_shape *shape, const gp_layout *layout) {
    const gp_recipe *recipe = &layout->recipe;
    bool fused = recipe->kernels == GP_KERNELS_FUSED;
    bool dropout = gp_known(job, GP_FIELD_DROPOUT) && gp_real(job, GP_FIELD_DROPOUT) > 0;
    unsigned bits = fused ? FUSED : EAGER;
    bits |= shape->norm == GP_NORM_RMS ? RMS_NORM : LAYER_NORM;
    bits |= shape->gated_ffn ? GATED : PLAIN;
    bits |= recipe->flash ? FLASH : SCORES;
    bits |= recipe->expanded_kv ? EXPANDED : NATIVE_GQA;
    bits |= gp_is_adapter(job) ? FROZEN : TRAINED;
    if (recipe->wide_casts) bits |= WIDE_CASTS;
    if (recipe->scales_outputs) bits |= TRAINED | SCALED;
    if (layout->cp > 1 && recipe->framework->main_gradients) bits |= CONTEXT;
    if (recipe->framework->fused_qkv) bits |= FUSED_QKV;
    bits |= recipe->elementwise_gelu ? ELEMENTWISE_GELU : FUSED_GELU;
    if (!gp_is_adapter(job) || recipe->keeps_inputs) bits |= INPUTS;
    if (dropout) bits |= DROPOUT;
    if (dropout && (recipe->framework->main_gradients || shape->norm != GP_NORM_RMS)) bits |= RESIDUAL_DROPOUT;
    if (recipe->mean_keeps_input) bits |= MEAN_INPUT;
    if (shape->qk_norm) bits |= QK_NORM;
    if ((shape->code & (GP_CODE_NORM_ADDS_ONE | GP_CODE_NORM_WIDE)) != 0) bits |= WIDE_NORM;
    if ((shape->code & GP_CODE_CAPS_SCORES) != 0) bits |= CAPPED;
    return bits;
}

/* Softmax attention of the kind, expanded from the latent where it has one. */
static void set_attention(const gp_shape *shape, const gp_layer *layer, const gp_layout *layout, double *widths) {
    const gp_layer_kind *kind = &layer->kind;
    if (kind->attention == GP_ATTENTION_NONE) return;
    bool latent = kind->attention == GP_ATTENTION_LATENT;
    const gp_latent *sizes = &shape->latent;
    double tp = (double)layout->tp, d = latent ? (double)(sizes->nope + sizes->rope) : (double)kind->head_dim;
    double value = (double)(latent ? sizes->value : kind->value_dim), heads = (double)kind->heads / tp;
    double kv_heads = latent ? heads : ceil((double)kind->kv_heads / tp);
    if (kv_heads < 1) kv_heads = 1;
    widths[WIDTH_QUERY] = heads * d;
    widths[WIDTH_KV] = kv_heads * d;
    widths[WIDTH_VALUE] = kv_heads * value;
    widths[WIDTH_OUTPUT] = heads * value;
    widths[WIDTH_HEADS] = heads;
    widths[WIDTH_KV_HEADS] = kv_heads;
    widths[WIDTH_SCORES] = heads * (double)layout->seq_len;
    double sp = layout->sequence_parallel ? tp : 1;
    if (latent) widths[WIDTH_LATENTS] = (double)(sizes->q_lora + sizes->kv_lora + sizes->rope) / sp;
}

/* Every token goes to topk experts, in the mean as many to each: under expert parallelism a rank works on as many tokens
 * as it sends away. */
static void set_feed_forward(const gp_shape *shape, const gp_layer *layer, const gp_layout *layout, double *widths) {
    const gp_experts *experts = &shape->experts;
    double tp = (double)layout->tp, sp = layout->sequence_parallel ? tp : 1;
    gp_feed_forward form = layer->kind.feed_forward;
    if (form == GP_FFN_DENSE || form == GP_FFN_MOE_BESIDE_DENSE) widths[WIDTH_FFN] = (double)layer->kind.ffn / tp;
    if (form == GP_FFN_MOE_BESIDE_DENSE && experts->dense_ffn > 0) widths[WIDTH_FFN] = (double)experts->dense_ffn / tp;
    if (layer->expert_params == 0) return;
    double topk = (double)experts->topk;
    double routed = experts->latent > 0 ? (double)experts->latent : (double)shape->hidden;
    widths[WIDTH_FFN] += (topk * (double)experts->ffn + (double)experts->shared_ffn) / tp;
    widths[WIDTH_ROUTED] = topk * routed / sp;
    widths[WIDTH_EXPERTS] = (double)experts->count / sp;
    widths[WIDTH_CHOICES] = topk / sp;
    widths[WIDTH_ROUTER] = 1 / sp;
}

/* Outputs of the input projections, of the convolution, of the recurrence and of its gate. */
static void set_recurrence(const gp_shape *shape, const gp_layer *layer, const gp_layout *layout, double *widths) {
    if (layer->kind.recurrence == GP_RECURRENCE_NONE) return;
    double projected = 0, kernel = (double)(shape->recurrent.kernel > 1 ? shape->recurrent.kernel - 1 : 1);
    for (int i = 0; i < layer->matrix_count; i++) {
        const gp_matrix *matrix = &layer->matrices[i];
        bool input = matrix->target == GP_TARGET_MIXER && matrix->inputs == shape->hidden;
        if (input) projected += (double)matrix->outputs;
    }
    double inner = shape->recurrent.inner > 0 ? (double)shape->recurrent.inner : (double)shape->hidden;
    widths[WIDTH_MIXER] = (projected + (double)layer->conv_state / kernel + 2 * inner) / (double)layout->tp;
}

/* Widths on one rank. What lies along the hidden size is divided by sequence parallelism only. */
static void set_widths(const gp_shape *shape, const gp_layer *layer, const gp_layout *layout,
                       double widths[WIDTH_COUNT]) {
    double sp = layout->sequence_parallel ? (double)layout->tp : 1;
    for (int i = 0; i < WIDTH_COUNT; i++) widths[i] = 0;
    widths[WIDTH_TOKEN] = 1 / sp;
    widths[WIDTH_HIDDEN] = (double)shape->hidden / sp;
    set_attention(shape, layer, layout, widths);
    set_feed_forward(shape, layer, layout, widths);
    set_recurrence(shape, layer, layout, widths);
}

/* PEFT's order: the input is cast to the adapter's type, multiplied by A, then by B. With fp32 adapters each cast is a
 * copy of its own, which autocast narrows to 16 bits; an adapter in 16 bits shares the input that the frozen matrix
 * product would not have kept. */
static double adapter_bytes(const gp_job *job, const gp_layer *layer, const gp_recipe *recipe, const double *widths) {
    double rank = (double)gp_whole(job, GP_FIELD_LORA_RANK);
    bool dropout = recipe->adapter_dropout;
    double inner = recipe->adapter_bytes > 2 && !recipe->autocast_adapters ? 4 : 2;
    double input_bytes = inner + (dropout ? 1 : 0);
    bool shared = recipe->adapter_bytes <= 2 && (!dropout || recipe->framework->fused_qkv);
    double bytes = 0;
    unsigned seen = 0;
    for (int i = 0; i < layer->matrix_count; i++) {
        unsigned target = layer->matrices[i].target;
        if (!gp_adapts(job->lora_targets, &layer->matrices[i])) continue;
        bool attention_input = (target & (GP_TARGET_Q | GP_TARGET_K | GP_TARGET_V)) != 0;
        bool ffn_input = (target & (GP_TARGET_GATE | GP_TARGET_UP)) != 0;
        width from = target == GP_TARGET_O ? WIDTH_OUTPUT : target == GP_TARGET_DOWN ? WIDTH_FFN : WIDTH_HIDDEN;
        unsigned input = attention_input ? 1u : ffn_input ? 2u : 0u;
        if (!shared || input == 0 || (seen & input) == 0) bytes += input_bytes * widths[from];
        bytes += inner * rank;
        seen |= input;
    }
    return bytes;
}

/* Gradients of activations while a layer runs backward: the residual stream, and either the feed-forward block's
 * inner gradients or, without a fused kernel, those of the attention scores (fp32), by which time the feed-forward
 * tensors are gone. */
static double working_bytes(const gp_recipe *recipe, const double *widths, unsigned conditions) {
    double e = recipe->activation_bytes;
    double ffn = ((conditions & GATED) != 0 ? 2 : 1) * e * widths[WIDTH_FFN];
    double scores = (conditions & SCORES) != 0 ? 8 * widths[WIDTH_SCORES] + e * widths[WIDTH_QUERY] : 0;
    return e * widths[WIDTH_HIDDEN] + fmax(ffn, scores - 4 * e * widths[WIDTH_FFN]);
}

/* Final norm and the input of the output matrix. */
static double end_bytes(const gp_recipe *recipe, const double *widths, unsigned conditions) {
    static const double fused[GP_NUMERICS_COUNT] = {6, 12, 6};
    static const double rms[GP_NUMERICS_COUNT] = {6, 8, 8}, layer[GP_NUMERICS_COUNT] = {2, 4, 4};
    static const double head[GP_NUMERICS_COUNT] = {2, 4, 2};
    gp_numerics numerics = recipe->numerics;
    if ((conditions & FUSED) != 0) return fused[numerics] * widths[WIDTH_HIDDEN];
    if ((conditions & FROZEN) != 0) return 4 * widths[WIDTH_HIDDEN] + 4;
    double norm = (conditions & RMS_NORM) != 0 ? rms[numerics] : layer[numerics];
    return (norm + head[numerics]) * widths[WIDTH_HIDDEN] + 4;
}

static gp_layer_bytes layer_bytes(const gp_job *job, const gp_model *model, const gp_layer *kind,
                                  const gp_layout *layout) {
    const gp_recipe *recipe = &layout->recipe;
    const gp_shape *shape = &model->shape;
    double widths[WIDTH_COUNT];
    set_widths(shape, kind, layout, widths);
    unsigned conditions = conditions_of(job, shape, layout);
    double norms = shape->norms_per_layer > 0 ? shape->norms_per_layer : 0;
    double all = 0, core = 0, ops = 0, parts = 0;
    for (int i = 0; i < TENSOR_COUNT; i++) {
        const tensor *row = &tensors[i];
        if ((row->when & ~conditions) != 0) continue;
        double bytes = row->bytes[recipe->numerics] * widths[row->width];
        if ((row->policy & PER_NORM) != 0) bytes *= norms;
        if ((row->policy & OPS) != 0) ops += bytes;
        if ((row->policy & OPS_ONLY) != 0) continue;
        all += bytes;
        if ((row->policy & CORE) != 0) core += bytes;
        if ((row->policy & recipe->recomputed_parts * NORMS) != 0) parts += bytes;
    }
    double adapters = gp_is_adapter(job) && recipe->plain_adapter ? adapter_bytes(job, kind, recipe, widths) : 0;
    gp_layer_bytes layer = {.live = all + adapters};
    layer.checkpoint = (recipe->numerics == GP_NUMERICS_16_BIT ? 2 : 4) * widths[WIDTH_HIDDEN];
    layer.working = working_bytes(recipe, widths, conditions);
    layer.ends = end_bytes(recipe, widths, conditions);
    layer.kept = layer.live;
    if (recipe->recompute == GP_RECOMPUTE_FULL) layer.kept = recipe->checkpoints_on_host ? 0 : layer.checkpoint;
    if (recipe->recompute == GP_RECOMPUTE_SELECTIVE) layer.kept = recipe->core_only ? layer.live - core : ops + adapters;
    layer.kept = fmax(0, layer.kept - parts);
    return layer;
}

gp_layer_bytes gp_layer_activations(const gp_job *job, const gp_model *model, const gp_layout *layout,
                                    const gp_stage_share *share) {
    int64_t layers[GP_KINDS_MAX];
    gp_layer_bytes all = {.kept = 0};
    gp_model_kinds_of(model, share->first_layer, share->layers, layers);
    for (int i = 0; i < model->kind_count; i++) {
        if (layers[i] == 0) continue;
        gp_layer_bytes one = layer_bytes(job, model, &model->kinds[i], layout);
        if (layers[i] == share->layers) return one;
        all.kept += one.kept * (double)layers[i] / (double)share->layers;
        all.live = fmax(all.live, one.live);
        all.working = fmax(all.working, one.working);
        all.checkpoint = one.checkpoint;
        all.ends = one.ends;
    }
    return all;
}

uint64_t gp_host_checkpoints(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_stage_share *share) {
    if (!layout->recipe.checkpoints_on_host) return 0;
    double tokens = (double)layout->micro_batch * (double)layout->seq_len / (double)layout->cp;
    double layers = (double)share->layers / (double)layout->vpp * (double)share->in_flight;
    return gp_bytes_from_double(tokens * layers * gp_layer_activations(job, model, layout, share).checkpoint);
}
