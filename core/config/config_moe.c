/* What only one family of mixtures of experts has. Sources: the configurations published with the weights and
 * modeling_*.py of the transformers library (release 4.57). */
#include <string.h>

#include "cJSON.h"
#include "config/config_family.h"

/* A prediction module holds a block like the last layer, two norms before the projection and one after the block;
 * DeepSeek's and GLM's files also hold the embedding and the head again. */
void gp_rule_deepseek(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    gp_plan_mtp(reader, "num_nextn_predict_layers", plan->count - 1, 3, shape, plan);
    shape->mtp_copies = strcmp(shape->model_type, "glm_moe_dsa") != 0;
    const char *method = gp_config_text(reader, "topk_method");
    bool corrected = method == NULL ? shape->experts.correction_bias : strcmp(method, "noaux_tc") == 0;
    shape->experts.correction_bias = corrected;
}

void gp_rule_glm4_moe(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    shape->qk_norm = gp_config_switch(reader, "use_qk_norm", false);
    gp_plan_mtp(reader, "num_nextn_predict_layers", plan->count - 1, 3, shape, plan);
    shape->mtp_copies = true;
}

/* Biases everywhere, a sink per head. */
void gp_rule_gpt_oss(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    gp_rule_windows(reader, shape, plan);
    shape->sinks = true;
    shape->experts.router_bias = shape->experts.bias = true;
}

/* Attention and experts have objects of their own. */
void gp_rule_dbrx(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    char attention_path[GP_PATH_BYTES], ffn_path[GP_PATH_BYTES];
    gp_config_reader attention = gp_config_inside(reader, "attn_config", attention_path);
    gp_config_reader ffn = gp_config_inside(reader, "ffn_config", ffn_path);
    shape->kv_heads = gp_config_whole(&attention, "kv_n_heads", 1, 1);
    shape->experts.count = gp_config_whole(&ffn, "moe_num_experts", 1, 4);
    shape->experts.topk = gp_config_whole(&ffn, "moe_top_k", 1, 1);
    shape->experts.ffn = shape->ffn = gp_config_whole(&ffn, "ffn_hidden_size", 1, 3584);
    for (int64_t i = 0; i < plan->count; i++) plan->of[i].feed_forward = GP_FFN_MOE;
    reader->usable = reader->usable && attention.usable && ffn.usable;
}

/* A dense residual block as wide as the hidden state beside the experts. */
void gp_rule_arctic(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    bool beside = gp_config_switch(reader, "parallel_attn_mlp_res", true);
    int64_t step = gp_config_whole(reader, "moe_layer_frequency", 1, 2);
    shape->experts.dense_ffn = shape->hidden;
    for (int64_t i = 0; i < plan->count; i++) {
        bool moe = (i + 1) % step == 0;
        plan->of[i].feed_forward = !moe ? GP_FFN_DENSE : beside ? GP_FFN_MOE_BESIDE_DENSE : GP_FFN_MOE;
    }
}

/* The prediction module of ERNIE has a dense block. */
void gp_rule_ernie_moe(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    gp_plan_mtp(reader, "num_nextn_predict_layers", 0, 2, shape, plan);
}

void gp_rule_phimoe(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    shape->head_bias = gp_config_switch(reader, "lm_head_bias", false);
}

void gp_rule_minimax_m2(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    (void)plan;
    shape->qk_norm = gp_config_switch(reader, "use_qk_norm", true);
    shape->experts.correction_bias = gp_config_switch(reader, "use_routing_bias", true);
}

void gp_rule_mimo(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    gp_rule_qwen2(reader, shape, plan);
    gp_plan_mtp(reader, "num_nextn_predict_layers", plan->count - 1, 3, shape, plan);
}

/* Which layers of MiMo-V2 see a window: listed as 1 or by name, else all but the first and every sixth. */
static void place_windows(gp_config_reader *reader, gp_layer_plan *plan) {
    static const char *const words[] = {"full_attention", "sliding_attention", NULL};
    int64_t windowed[GP_MAPPED_LAYERS];
    uint8_t word[GP_MAPPED_LAYERS];
    bool listed = gp_config_numbers(reader, "hybrid_layer_pattern", 0, 1, plan->count, windowed);
    bool named = !listed && gp_plan_words(reader, "layer_types", words, plan, word);
    for (int64_t i = 0; i < plan->count; i++) {
        bool window = listed ? windowed[i] == 1 : named ? word[i] == 1 : i > 0 && (i + 1) % 6 != 0;
        if (window) plan->of[i].attention = GP_ATTENTION_SLIDING;
    }
}

/* MiMo-V2 (configuration_mimo_v2_flash.py and the files published with it): values narrower than keys; layers with a
 * window have KV heads of their own and a sink for each head. Three prediction modules, which older configs do not count
 * (github.com/ggml-org/llama.cpp conversion/mimo.py), are dense layers with a window. */
void gp_rule_mimo_v2(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    const int64_t most = 1 << 16;
    shape->value_dim = gp_config_within(reader, "v_head_dim", 1, most, shape->head_dim);
    shape->sliding_window = gp_config_whole(reader, "sliding_window|sliding_window_size", 1, GP_REQUIRED);
    gp_layer_kind near = {.attention = GP_ATTENTION_SLIDING};
    near.heads = gp_config_within(reader, "swa_num_attention_heads", 1, most, shape->heads);
    near.kv_heads = gp_config_within(reader, "swa_num_key_value_heads", 1, most, 2 * shape->kv_heads);
    near.head_dim = gp_config_within(reader, "swa_head_dim", 1, most, shape->head_dim);
    near.value_dim = gp_config_within(reader, "swa_v_head_dim", 1, most, shape->value_dim);
    near.extra_params = gp_config_switch(reader, "add_swa_attention_sink_bias", true) ? near.heads : 0;
    int64_t sinks = gp_config_switch(reader, "add_full_attention_sink_bias", false) ? shape->heads : 0;
    if (near.heads % near.kv_heads != 0) gp_config_inconsistent(reader, "swa_num_key_value_heads", (double)near.kv_heads);
    place_windows(reader, plan);
    for (int64_t i = 0; i < plan->count; i++) {
        gp_feed_forward form = plan->of[i].feed_forward;
        plan->of[i].extra_params = sinks;
        if (plan->of[i].attention != GP_ATTENTION_SLIDING) continue;
        plan->of[i] = near;
        plan->of[i].feed_forward = form;
    }
    shape->mtp_layers = gp_config_within(reader, "num_nextn_predict_layers", 0, shape->layers, 3);
    shape->mtp_norms = 3;
    plan->has_own_module = shape->mtp_layers > 0;
    plan->own_module = near;
}
