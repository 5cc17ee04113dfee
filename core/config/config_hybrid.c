/* State-space models and their mixtures with attention. Sources: the configurations published with the weights and
 * modeling_*.py of the transformers library (release 4.57). */
#include <string.h>

#include "cJSON.h"
#include "config/config_family.h"

static void all_layers(gp_layer_plan *plan, gp_attention attention, gp_recurrence recurrence, gp_feed_forward ffn) {
    for (int64_t i = 0; i < plan->count; i++) {
        plan->of[i].attention = attention;
        plan->of[i].recurrence = recurrence;
        plan->of[i].feed_forward = ffn;
    }
}

/* An attention layer keeps its feed-forward block; another becomes a recurrent one. */
static void make_recurrent(gp_layer_kind *kind, gp_recurrence recurrence) {
    kind->attention = GP_ATTENTION_NONE;
    kind->recurrence = recurrence;
}

static bool is_automatic(const gp_config_reader *reader, const char *key) {
    const cJSON *item = gp_config_item(reader, key);
    return cJSON_IsString(item) && strcmp(item->valuestring, "auto") == 0;
}

/* "auto" is the sixteenth part of hidden, rounded up. */
static int64_t time_step_rank(gp_config_reader *reader, const char *key, const gp_shape *shape) {
    int64_t automatic = (shape->hidden + 15) / 16;
    return is_automatic(reader, key) ? automatic : gp_config_whole(reader, key, 1, automatic);
}

static int64_t bounded(int64_t factor, int64_t width) {
    return factor > GP_DIMENSION_MAX / width ? GP_DIMENSION_MAX : factor * width;
}

void gp_rule_mamba(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    gp_state_space *ssm = &shape->recurrent;
    int64_t expand = gp_config_whole(reader, "expand", 1, 2);
    ssm->inner = gp_config_whole(reader, "intermediate_size|d_inner", 1, bounded(expand, shape->hidden));
    ssm->state = gp_config_whole(reader, "state_size|d_state", 1, 16);
    ssm->kernel = gp_config_whole(reader, "conv_kernel|d_conv", 1, 4);
    ssm->rank = time_step_rank(reader, "time_step_rank", shape);
    ssm->bias = gp_config_switch(reader, "use_bias", false);
    ssm->conv_bias = gp_config_switch(reader, "use_conv_bias", true);
    shape->ffn = 0;
    all_layers(plan, GP_ATTENTION_NONE, GP_RECURRENCE_MAMBA, GP_FFN_NONE);
}

#define SSM_HEADS "mamba_n_heads|mamba_num_heads|n_mamba_heads|num_heads"
#define SSM_HEAD_DIM "mamba_d_head|mamba_head_dim|mamba_headdim"
#define SSM_STATE "mamba_d_state|ssm_state_size|state_size"
#define SSM_GROUPS "mamba_n_groups|n_groups|mamba_ngroups"
#define SSM_KERNEL "mamba_d_conv|conv_kernel"

static void read_mamba2(gp_config_reader *reader, gp_shape *shape, const char *head_dims) {
    gp_state_space *ssm = &shape->recurrent;
    int64_t expand = gp_config_whole(reader, "mamba_expand|expand", 1, 2);
    ssm->heads = gp_config_whole(reader, SSM_HEADS, 1, 128);
    int64_t inner = gp_config_item(reader, "mamba_d_ssm") != NULL ? gp_config_whole(reader, "mamba_d_ssm", 1, 1)
                                                                   : bounded(expand, shape->hidden);
    int64_t head = is_automatic(reader, "mamba_d_head") ? 0 : gp_config_whole(reader, head_dims, 1, 0);
    ssm->inner = head > 0 ? bounded(ssm->heads, head) : inner;
    ssm->state = gp_config_whole(reader, SSM_STATE, 1, 128);
    ssm->groups = gp_config_whole(reader, SSM_GROUPS, 1, gp_config_default(reader, shape->model_type, SSM_GROUPS, 1));
    ssm->kernel = gp_config_whole(reader, SSM_KERNEL, 1, 4);
    ssm->bias = gp_config_switch(reader, "mamba_proj_bias", false);
    ssm->conv_bias = gp_config_switch(reader, "mamba_conv_bias", gp_config_switch(reader, "use_conv_bias", true));
    ssm->inner_norms = true;
}

void gp_rule_mamba2(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    read_mamba2(reader, shape, "head_dim");
    shape->recurrent.bias = gp_config_switch(reader, "use_bias", false);
    shape->ffn = 0;
    all_layers(plan, GP_ATTENTION_NONE, GP_RECURRENCE_MAMBA2, GP_FFN_NONE);
}

/* Jamba: attention in one layer of attn_layer_period, experts in one of expert_layer_period. */
void gp_rule_jamba(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    gp_state_space *ssm = &shape->recurrent;
    ssm->inner = bounded(gp_config_whole(reader, "mamba_expand", 1, 2), shape->hidden);
    ssm->state = gp_config_whole(reader, "mamba_d_state", 1, 16);
    ssm->kernel = gp_config_whole(reader, "mamba_d_conv", 1, 4);
    ssm->rank = time_step_rank(reader, "mamba_dt_rank", shape);
    ssm->bias = gp_config_switch(reader, "mamba_proj_bias", false);
    ssm->conv_bias = gp_config_switch(reader, "mamba_conv_bias", true);
    ssm->inner_norms = true;
    int64_t period = gp_config_whole(reader, "attn_layer_period", 1, 8);
    int64_t offset = gp_config_whole(reader, "attn_layer_offset", 0, 4);
    int64_t every = gp_config_whole(reader, "expert_layer_period", 1, 2);
    int64_t first = gp_config_whole(reader, "expert_layer_offset", 0, 1);
    for (int64_t i = 0; i < plan->count; i++) {
        if (i % period != offset) make_recurrent(&plan->of[i], GP_RECURRENCE_MAMBA);
        bool moe = shape->experts.count > 1 && i % every == first;
        plan->of[i].feed_forward = moe ? GP_FFN_MOE : GP_FFN_DENSE;
    }
}

/* Attention and state-space heads side by side in every layer. */
void gp_rule_falcon_h1(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    read_mamba2(reader, shape, SSM_HEAD_DIM);
    shape->recurrent.inner_norms = gp_config_switch(reader, "mamba_rms_norm", false);
    all_layers(plan, GP_ATTENTION_FULL, GP_RECURRENCE_MAMBA2, GP_FFN_DENSE);
}

static const char letters[] = "M*-E";

/* One letter for each layer: M state space, * attention, - feed-forward, E experts. */
static void letter_kind(char letter, gp_layer_kind *kind) {
    *kind = (gp_layer_kind){.attention = GP_ATTENTION_NONE, .feed_forward = GP_FFN_NONE};
    if (letter == 'M') kind->recurrence = GP_RECURRENCE_MAMBA2;
    if (letter == '*') kind->attention = GP_ATTENTION_FULL;
    if (letter == '-') kind->feed_forward = GP_FFN_DENSE;
    if (letter == 'E') kind->feed_forward = GP_FFN_MOE;
}

/* Blocks by name, or by letter as older configs have them. */
static void read_pattern(gp_config_reader *reader, const gp_shape *shape, gp_layer_plan *plan) {
    static const char *const blocks[] = {"mamba", "attention", "mlp", "moe", NULL}; /* as `letters` */
    if (gp_config_item(reader, "layers_block_type") != NULL) {
        uint8_t block[GP_MAPPED_LAYERS];
        bool named = gp_plan_words(reader, "layers_block_type", blocks, plan, block);
        for (int64_t i = 0; i < plan->count && named; i++) letter_kind(letters[block[i]], &plan->of[i]);
        return;
    }
    const char *pattern = gp_config_text(reader, "hybrid_override_pattern");
    int64_t layer = pattern == NULL ? 0 : (int64_t)strlen(pattern);
    if (pattern != NULL && strspn(pattern, letters) != (size_t)layer)
        gp_config_unsupported(reader, "hybrid_override_pattern", pattern + strspn(pattern, letters));
    for (int64_t i = 0; i < plan->count && i < layer; i++) letter_kind(pattern[i], &plan->of[i]);
    if (layer == shape->layers) return;
    gp_config_inconsistent(reader, "hybrid_override_pattern", (double)layer);
}

/* Last layer of a kind of block, for the prediction module, or the last of all. */
static int64_t last_layer(const gp_layer_plan *plan, char letter) {
    gp_layer_kind like;
    letter_kind(letter, &like);
    for (int64_t i = plan->count - 1; i >= 0; i--) {
        if (plan->of[i].attention == like.attention && plan->of[i].feed_forward == like.feed_forward) return i;
    }
    return plan->count - 1;
}

/* Blocks of one norm and one part each; experts of up and down alone. */
void gp_rule_nemotron_h(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    read_mamba2(reader, shape, SSM_HEAD_DIM);
    shape->recurrent.bias = gp_config_switch(reader, "use_bias", shape->recurrent.bias);
    bool moe = gp_plan_experts(reader, shape, plan);
    shape->experts.correction_bias = moe;
    shape->experts.latent = gp_config_whole(reader, "moe_latent_size", 1, 0);
    read_pattern(reader, shape, plan);
    gp_plan_mtp(reader, "num_nextn_predict_layers", last_layer(plan, '*'), 3, shape, plan);
    plan->mtp_like[plan->mtp_count++] = last_layer(plan, 'E');
}

/* Granite 4: a shared feed-forward block in every layer, with experts beside it where there are some. */
void gp_rule_granite_hybrid(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    static const char *const words[] = {"mamba", "attention", NULL};
    uint8_t word[GP_MAPPED_LAYERS];
    bool named = gp_plan_words(reader, "layer_types", words, plan, word), recurrent = false;
    for (int64_t i = 0; i < plan->count; i++) {
        if (named && word[i] != 0) continue;
        make_recurrent(&plan->of[i], GP_RECURRENCE_MAMBA2);
        recurrent = true;
    }
    if (recurrent) read_mamba2(reader, shape, SSM_HEAD_DIM);
    if (shape->experts.count == 0) {
        shape->ffn = gp_config_whole(reader, "shared_intermediate_size", 1, shape->ffn);
    }
}

/* Zamba 2 (arXiv:2411.15242, section 2): state-space layers; some are preceded by one of num_mem_blocks shared blocks,
 * attention and feed-forward over the hidden state and the embedding side by side, with low-rank adapters and a
 * projection of its own for each use. */
void gp_rule_zamba2(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    bool hybrid[GP_MAPPED_LAYERS];
    int64_t hidden = shape->hidden, wide = 2 * hidden;
    int64_t blocks = gp_config_whole(reader, "num_mem_blocks", 1, 1);
    int64_t rank = gp_config_whole(reader, "adapter_rank", 0, 128);
    int64_t inner = gp_config_whole(reader, "attention_hidden_size", 1, wide);
    int64_t ffn = gp_config_whole(reader, "ffn_hidden_size|intermediate_size", 1, 4 * hidden);
    bool adapted = gp_config_switch(reader, "use_shared_attention_adapter", false);
    read_mamba2(reader, shape, SSM_HEAD_DIM);
    if (hidden > INT64_C(1) << 20 || ffn > INT64_C(1) << 20 || rank > 65536 || inner > INT64_C(1) << 20) {
        gp_config_unsupported(reader, "hidden_size", "zamba2");
        return;
    }
    shape->head_dim = inner / shape->heads;
    shape->ffn = ffn;
    all_layers(plan, GP_ATTENTION_NONE, GP_RECURRENCE_MAMBA2, GP_FFN_NONE);
    bool given = gp_plan_listed(reader, "hybrid_layer_ids", 0, hybrid, plan->count);
    if (!given) gp_config_whole(reader, "hybrid_layer_ids", 1, GP_REQUIRED);
    int64_t adapters = rank * (hidden + 2 * ffn) + (adapted ? 3 * rank * (wide + inner) : 0);
    for (int64_t i = 0; i < plan->count; i++) {
        if (!hybrid[i]) continue;
        plan->of[i].attention = GP_ATTENTION_FULL;
        plan->of[i].borrowed = true;
        plan->of[i].extra_params = hidden * hidden + adapters;
    }
    shape->extra_params = blocks * (3 * wide * inner + inner * hidden + 3 * hidden * ffn + wide + hidden);
}
