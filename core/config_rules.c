/* What only one family has. The names are those of the published configurations. */
#include <math.h>

#include "cJSON.h"
#include "config_family.h"

/* OPT keeps two position rows before the first token, and its 350m member embeds into a narrower space, normalises
 * after each block and has no final norm. */
void gp_rule_opt(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    shape->learned_positions += 2;
    int64_t width = gp_config_whole(reader, "word_embed_proj_dim", 1, shape->hidden);
    shape->embedding_dim = width == shape->hidden ? 0 : width;
    bool before = gp_config_switch(reader, "do_layer_norm_before", true);
    shape->final_norm = before && !gp_config_switch(reader, "_remove_final_layer_norm", false);
    if (!gp_config_switch(reader, "layer_norm_elementwise_affine", true)) shape->norm = GP_NORM_NONE;
}

void gp_rule_gpt_bigcode(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    shape->kv_heads = gp_config_switch(reader, "multi_query", true) ? 1 : shape->heads;
}

/* `num_kv_heads` counts only in the new decoder architecture; before, `multi_query` means one KV head. */
void gp_rule_falcon(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    bool newer = gp_config_switch(reader, "new_decoder_architecture", false);
    bool parallel = gp_config_switch(reader, "parallel_attn", true);
    if (!newer) shape->kv_heads = gp_config_switch(reader, "multi_query", true) ? 1 : shape->heads;
    shape->norms_per_layer = parallel && !newer ? 1 : 2;
    if (newer) {
        int64_t norms = gp_config_whole(reader, "num_ln_in_parallel_attn", 1, 2);
        shape->norms_per_layer = norms == 1 ? 1 : 2;
    }
}

/* `expansion_ratio` gives the FFN, `no_bias` covers matrices and norms, attention has an object of its own. */
void gp_rule_mpt(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    char path[GP_PATH_BYTES];
    double ratio = gp_config_positive(reader, "expansion_ratio", 4);
    double ffn = floor(ratio * (double)shape->hidden);
    if (ffn >= 1 && ffn <= (double)GP_DIMENSION_MAX) shape->ffn = (int64_t)ffn;
    bool bias = !gp_config_switch(reader, "no_bias", true);
    shape->qkv_bias = shape->output_bias = shape->ffn_bias = bias;
    if (bias) shape->norm = GP_NORM_LAYER;
    gp_config_reader attention = gp_config_inside(reader, "attn_config", path);
    shape->kv_heads = gp_config_whole(&attention, "kv_n_heads", 1, shape->kv_heads);
    if (gp_config_switch(&attention, "qk_ln", false)) gp_config_unsupported(&attention, "qk_ln", "qk_ln");
    bool alibi = gp_config_switch(&attention, "alibi", false);
    if (!alibi && gp_config_switch(reader, "learned_pos_emb", true)) shape->learned_positions = shape->max_context;
    reader->usable = reader->usable && attention.usable;
}

void gp_rule_phi(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    (void)shape;
    if (gp_config_switch(reader, "qk_layernorm", false)) {
        gp_config_unsupported(reader, "qk_layernorm", "qk_layernorm");
    }
}

void gp_rule_cohere(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    shape->qk_norm = shape->qk_norm_per_head = gp_config_switch(reader, "use_qk_norm", false);
}

void gp_rule_stablelm(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    shape->qk_norm = shape->qk_norm_per_head = gp_config_switch(reader, "qk_layernorm", false);
    if (gp_config_switch(reader, "use_parallel_residual", false)) shape->norms_per_layer = 1;
}

void gp_rule_chatglm(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    bool grouped = gp_config_switch(reader, "multi_query_attention", false);
    shape->kv_heads = grouped ? gp_config_whole(reader, "multi_query_group_num", 1, 1) : shape->heads;
    if (!gp_config_switch(reader, "rmsnorm", true)) shape->norm = GP_NORM_LAYER;
    shape->final_norm = gp_config_switch(reader, "post_layer_norm", true);
}

/* Qwen (first generation) states the width of gate and up together. */
void gp_rule_qwen(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    shape->ffn = shape->ffn / 2 > 0 ? shape->ffn / 2 : 1;
    shape->output_bias = shape->ffn_bias = !gp_config_switch(reader, "no_bias", true);
}

/* With use_sliding_window the layers from max_window_layers on have a window. */
void gp_rule_qwen2(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    if (!gp_config_switch(reader, "use_sliding_window", false)) return;
    int64_t full = gp_config_whole(reader, "max_window_layers", 0, shape->layers);
    if (full >= shape->layers) return;
    shape->sliding_window = gp_config_whole(reader, "sliding_window", 1, 0);
    if (shape->sliding_window == 0) return;
    for (int64_t i = full; i < plan->count; i++) plan->of[i].attention = GP_ATTENTION_SLIDING;
}

void gp_rule_hunyuan(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    shape->qk_norm = gp_config_switch(reader, "use_qk_norm", true);
}
