/* What only one family has. The names are those of the published configurations. */
#include <math.h>

#include "cJSON.h"
#include "config/config_family.h"

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

/* `num_kv_heads` counts only in the new decoder architecture; before, `multi_query` means one KV head. The configuration
 * under the first name of the family (RefinedWeb) has no word for the new one but `n_head_kv`. */
void gp_rule_falcon(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    bool counted = gp_config_item(reader, "n_head_kv") != NULL;
    bool newer = gp_config_switch(reader, "new_decoder_architecture", counted);
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
    double ratio = gp_config_number(reader, "expansion_ratio", 0.001, 1000, 4);
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

/* The activation has two parameters (xIELU, Huang and Schlag 2024, arXiv:2411.13010). */
void gp_rule_apertus(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)shape;
    if (!gp_config_switch(reader, "qk_norm", true)) gp_config_unsupported(reader, "qk_norm", "apertus");
    for (int64_t i = 0; i < plan->count; i++) plan->of[i].extra_params = 2;
}

/* One half of a layer that a search chose (Puzzle, Bercovich et al. 2024, arXiv:2411.19146): as it is, left out, or one
 * matrix in its place. `number` is 0 unless it is as it is. */
static double chosen(const cJSON *half, const char *key, bool *linear) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(half, key);
    *linear = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(half, "replace_with_linear"));
    bool out = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(half, "no_op"));
    bool given = cJSON_IsNumber(number) && number->valuedouble > 0 && number->valuedouble < 65536;
    return given && !out && !*linear ? number->valuedouble : 0;
}

/* Nemotron of the Puzzle search: each layer has KV heads and a width of its own, and a norm for each half it has. The
 * width is two thirds of so many times hidden, rounded up to 256 (modeling_decilm.py, published with the weights). */
void gp_rule_nas(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    const cJSON *blocks = gp_config_item(reader, "block_configs"), *block = NULL;
    int64_t layer = 0, hidden = shape->hidden;
    cJSON_ArrayForEach(block, blocks) {
        if (layer == plan->count || !cJSON_IsObject(block)) break;
        gp_layer_kind *kind = &plan->of[layer++];
        bool attention_linear, ffn_linear;
        const cJSON *attention = cJSON_GetObjectItemCaseSensitive(block, "attention");
        const cJSON *ffn = cJSON_GetObjectItemCaseSensitive(block, "ffn");
        double group = chosen(attention, "n_heads_in_group", &attention_linear);
        double times = chosen(ffn, "ffn_mult", &ffn_linear);
        if (group >= 1) kind->kv_heads = shape->heads / (int64_t)group;
        if (kind->kv_heads < 1) kind->attention = GP_ATTENTION_NONE;
        if (times > 0) kind->ffn = ((int64_t)floor(2 * times * (double)hidden / 3) + 255) / 256 * 256;
        if (times == 0) kind->feed_forward = GP_FFN_NONE;
        kind->extra_params = (group >= 1 || attention_linear ? hidden : 0) + (times > 0 || ffn_linear ? hidden : 0);
        if (hidden <= 65536) kind->extra_params += (attention_linear + ffn_linear) * hidden * hidden;
        if (kind->kv_heads > shape->kv_heads || layer == 1) shape->kv_heads = kind->kv_heads > 0 ? kind->kv_heads : 1;
        if (kind->ffn > shape->ffn) shape->ffn = kind->ffn;
    }
    if (layer != shape->layers) gp_config_unsupported(reader, "block_configs", "nemotron-nas");
}

/* A norm before the last matrix of each half (BitNet b1.58 2B4T): one of them is the third of the layer. */
void gp_rule_bitnet(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)reader;
    for (int64_t i = 0; i < plan->count; i++) plan->of[i].extra_params = shape->ffn;
}

/* A multiple of `step` near `width`, not below it by a tenth (make_divisible of the MobileNet authors). */
static int64_t nearest_multiple(double width, int64_t step) {
    int64_t count = (int64_t)floor(width + (double)step / 2) / step, nearest = (count > 0 ? count : 1) * step;
    return (double)nearest < 0.9 * width ? nearest + step : nearest;
}

/* OpenELM (arXiv:2404.14619, section 2.1; configuration_openelm.py, published with the weights): each layer has heads
 * and a width of its own. */
void gp_rule_openelm(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    int64_t heads[GP_MAPPED_LAYERS], kv_heads[GP_MAPPED_LAYERS], layer = 0;
    const int64_t most = 1 << 16;
    const cJSON *multipliers = gp_config_list(reader, "ffn_multipliers"), *multiplier = NULL;
    int64_t step = gp_config_within(reader, "ffn_dim_divisor", 1, most, 256);
    bool listed = gp_config_numbers(reader, "num_query_heads", 1, most, plan->count, heads) &&
                  gp_config_numbers(reader, "num_kv_heads", 1, most, plan->count, kv_heads);
    shape->head_dim = gp_config_within(reader, "head_dim", 1, most, GP_REQUIRED);
    shape->gated_ffn = gp_config_switch(reader, "ffn_with_glu", true);
    shape->qk_norm = gp_config_switch(reader, "normalize_qk_projections", false);
    cJSON_ArrayForEach(multiplier, multipliers) {
        double width = multiplier->valuedouble * (double)shape->hidden;
        bool usable = cJSON_IsNumber(multiplier) && width >= 1 && width <= (double)GP_DIMENSION_MAX / 2;
        if (layer == plan->count || !usable) break;
        plan->of[layer++].ffn = nearest_multiple(width, step);
    }
    if (!listed || layer != shape->layers || multiplier != NULL) {
        const char *key = listed ? "ffn_multipliers" : "num_query_heads";
        if (reader->usable) gp_argue_text(gp_config_fault(reader, GP_CODE_INCOMPLETE_MODEL, key), "what", key);
        return;
    }
    for (int64_t i = 0; i < plan->count; i++) {
        gp_layer_kind *kind = &plan->of[i];
        kind->heads = heads[i];
        kind->kv_heads = kv_heads[i];
        if (kind->heads % kind->kv_heads != 0) {
            gp_config_inconsistent(reader, "num_kv_heads", (double)kind->kv_heads);
            return;
        }
        if (kind->ffn > shape->ffn) shape->ffn = kind->ffn;
        if (kind->heads <= shape->heads) continue;
        shape->heads = kind->heads;
        shape->kv_heads = kind->kv_heads;
    }
}

/* Width of a Llama: two thirds of four times hidden, times a factor, rounded up (github.com/meta-llama/llama3
 * llama/model.py). */
static int64_t llama_width(gp_config_reader *reader, int64_t hidden) {
    int64_t multiple = gp_config_within(reader, "multiple_of", 1, 1 << 20, 0);
    if (multiple == 0) return gp_config_whole(reader, "hidden_dim", 1, GP_REQUIRED);
    double factor = gp_config_number(reader, "ffn_dim_multiplier", 0.01, 100, 1);
    double width = floor(factor * floor(8 * (double)hidden / 3));
    double rounded = ceil(width / (double)multiple) * (double)multiple;
    return rounded <= (double)GP_DIMENSION_MAX ? (int64_t)rounded : GP_DIMENSION_MAX;
}

/* params.json of Mistral (github.com/mistralai/mistral-inference src/mistral_inference/args.py) and of Llama. */
void gp_rule_params(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    char path[GP_PATH_BYTES];
    bool llama = shape->ffn == 0;
    shape->model_type = llama ? "llama" : "mistral";
    if (llama) shape->ffn = llama_width(reader, shape->hidden);
    if (gp_config_item(reader, "moe_args") != NULL) gp_config_unsupported(reader, "moe_args", "moe");
    shape->incomplete = gp_config_item(reader, "vision_encoder") != NULL;
    if (gp_config_item(reader, "moe") == NULL) return;
    gp_config_reader moe = gp_config_inside(reader, "moe", path);
    gp_experts *experts = &shape->experts;
    experts->count = gp_config_whole(&moe, "num_experts", 1, GP_REQUIRED);
    experts->topk = gp_config_within(&moe, "num_experts_per_tok", 1, experts->count, GP_REQUIRED);
    experts->ffn = shape->ffn;
    if (gp_config_item(&moe, "expert_hidden_dim") != NULL) gp_config_unsupported(&moe, "expert_hidden_dim", "moe");
    for (int64_t i = 0; i < plan->count; i++) plan->of[i].feed_forward = GP_FFN_MOE;
    shape->model_type = "mixtral";
    reader->usable = reader->usable && moe.usable;
}
