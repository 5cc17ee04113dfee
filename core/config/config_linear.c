/* Linear attention and short convolutions among layers of full attention. Sources: the configurations published with
 * the weights and modeling_*.py of the transformers library (release 4.57). */
#include <math.h>
#include <string.h>

#include "cJSON.h"
#include "config/config_family.h"

static void make_recurrent(gp_layer_kind *kind, gp_recurrence recurrence) {
    kind->attention = GP_ATTENTION_NONE;
    kind->recurrence = recurrence;
}

/* The layers that `layer_types` does not name full attention, else all but one in `period`. */
static void place_recurrent(gp_config_reader *reader, int64_t period, gp_recurrence recurrence, gp_layer_plan *plan) {
    static const char *const words[] = {"full_attention", "linear_attention", "conv", NULL};
    uint8_t word[GP_MAPPED_LAYERS];
    bool named = gp_plan_words(reader, "layer_types", words, plan, word);
    for (int64_t i = 0; i < plan->count; i++) {
        bool full = named ? word[i] == 0 : period > 0 && (i + 1) % period == 0;
        if (!full) make_recurrent(&plan->of[i], recurrence);
    }
}

static int64_t last_attention(const gp_layer_plan *plan) {
    int64_t layer = plan->count - 1;
    while (layer > 0 && plan->of[layer].attention == GP_ATTENTION_NONE) layer--;
    return layer;
}

/* Qwen3-Next and Qwen3.5: three layers of gated delta net to one of gated attention; prediction modules of the latter
 * kind. Qwen3-Next's config leaves its single module out. */
void gp_rule_qwen3_next(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    gp_state_space *ssm = &shape->recurrent;
    ssm->heads = gp_config_whole(reader, "linear_num_value_heads", 1, 32);
    ssm->key_heads = gp_config_whole(reader, "linear_num_key_heads", 1, 16);
    ssm->state = gp_config_whole(reader, "linear_key_head_dim", 1, 128);
    int64_t value = gp_config_whole(reader, "linear_value_head_dim", 1, 128);
    ssm->inner = value > GP_DIMENSION_MAX / ssm->heads ? GP_DIMENSION_MAX : ssm->heads * value;
    ssm->kernel = gp_config_whole(reader, "linear_conv_kernel_dim", 1, 4);
    place_recurrent(reader, gp_config_whole(reader, "full_attention_interval", 1, 4), GP_RECURRENCE_DELTA_NET, plan);
    gp_plan_mtp(reader, "mtp_num_hidden_layers", last_attention(plan), 3, shape, plan);
    if (strcmp(shape->model_type, "qwen3_next") == 0) shape->mtp_layers = 1;
}

/* MiniMax-01: lightning attention but for every eighth layer; attn_type_list has 1 for full attention. */
void gp_rule_minimax(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    int64_t full[GP_MAPPED_LAYERS];
    gp_state_space *ssm = &shape->recurrent;
    int64_t heads = shape->heads, head = shape->head_dim;
    ssm->inner = head > GP_DIMENSION_MAX / heads ? GP_DIMENSION_MAX : heads * head;
    ssm->state = head;
    ssm->heads = heads;
    if (gp_config_numbers(reader, "attn_type_list", 0, 1, plan->count, full)) {
        for (int64_t i = 0; i < plan->count; i++) {
            if (full[i] == 0) make_recurrent(&plan->of[i], GP_RECURRENCE_LIGHTNING);
        }
    } else {
        place_recurrent(reader, 2, GP_RECURRENCE_LIGHTNING, plan);
    }
}

/* Attention over the sums of earlier blocks of layers in place of the residual stream (Kimi K3, arXiv:2607.24653, section
 * 2.2): before each half of a layer and before the head a norm and a query. */
static void add_residual_attention(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    if (gp_config_whole(reader, "attn_res_block_size", 1, 0) == 0) return;
    for (int64_t i = 0; i < plan->count; i++) plan->of[i].extra_params += 4 * shape->hidden;
    shape->extra_params += 2 * shape->hidden;
}

/* Layers of delta attention; those of full attention, where they are listed, are the others. */
static void place_delta(gp_config_reader *linear, bool *delta, const gp_layer_plan *plan) {
    bool full[GP_MAPPED_LAYERS];
    bool given = gp_plan_listed(linear, "full_attn_layers", 1, full, plan->count);
    if (!gp_plan_listed(linear, "kda_layers", 1, delta, plan->count)) gp_config_whole(linear, "kda_layers", 1, GP_REQUIRED);
    for (int64_t i = 0; i < plan->count && given && linear->usable; i++) {
        if (full[i] == delta[i]) gp_config_inconsistent(linear, "full_attn_layers", (double)(i + 1));
    }
}

/* Kimi-Linear: three layers of Kimi delta attention to one of latent attention without positions. Layers are counted
 * from 1. */
void gp_rule_kimi_linear(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    char path[GP_PATH_BYTES];
    bool delta[GP_MAPPED_LAYERS];
    gp_state_space *ssm = &shape->recurrent;
    gp_config_reader linear = gp_config_inside(reader, "linear_attn_config", path);
    int64_t head = gp_config_whole(&linear, "head_dim", 1, 128);
    ssm->heads = gp_config_whole(&linear, "num_heads", 1, shape->heads);
    ssm->inner = head > GP_DIMENSION_MAX / ssm->heads ? GP_DIMENSION_MAX : ssm->heads * head;
    ssm->state = head;
    ssm->kernel = gp_config_whole(&linear, "short_conv_kernel_size", 1, 4);
    ssm->rank = gp_config_switch(&linear, "use_full_rank_gate", false) ? 0 : head;
    place_delta(&linear, delta, plan);
    for (int64_t i = 0; i < plan->count; i++) {
        if (delta[i]) make_recurrent(&plan->of[i], GP_RECURRENCE_KIMI_DELTA);
    }
    shape->latent.output_gate = gp_config_switch(reader, "mla_use_output_gate", false);
    shape->experts.latent = gp_config_whole(reader, "routed_expert_hidden_size", 1, 0);
    shape->experts.latent_norm = gp_config_switch(reader, "latent_moe_use_norm", false);
    add_residual_attention(reader, shape, plan);
    reader->usable = reader->usable && linear.usable;
}

/* LFM2 keeps two thirds of the stated width, times a factor, rounded up to a multiple. */
static int64_t lfm2_width(gp_config_reader *reader, int64_t stated) {
    if (!gp_config_switch(reader, "block_auto_adjust_ff_dim", true)) return stated;
    double width = floor(2 * (double)stated / 3);
    width = floor(gp_config_number(reader, "block_ffn_dim_multiplier", 0.001, 1000, 1) * width);
    int64_t multiple = gp_config_whole(reader, "block_multiple_of", 1, 256);
    double rounded = ceil(width / (double)multiple) * (double)multiple;
    return rounded >= 1 && rounded <= (double)GP_DIMENSION_MAX ? (int64_t)rounded : stated;
}

void gp_rule_lfm2(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    bool full[GP_MAPPED_LAYERS];
    gp_state_space *ssm = &shape->recurrent;
    ssm->kernel = gp_config_whole(reader, "conv_L_cache", 1, 3);
    ssm->bias = gp_config_switch(reader, "conv_bias", false);
    ssm->heads = 1;
    int64_t stated = gp_config_whole(reader, "block_ff_dim|intermediate_size", 1, GP_REQUIRED);
    shape->ffn = shape->experts.count > 0 ? stated : lfm2_width(reader, stated);
    shape->experts.correction_bias = gp_config_switch(reader, "use_expert_bias", true);
    if (gp_plan_listed(reader, "full_attn_idxs", 0, full, plan->count)) {
        for (int64_t i = 0; i < plan->count; i++) {
            if (!full[i]) make_recurrent(&plan->of[i], GP_RECURRENCE_SHORT_CONV);
        }
    } else {
        place_recurrent(reader, 0, GP_RECURRENCE_SHORT_CONV, plan);
    }
}
