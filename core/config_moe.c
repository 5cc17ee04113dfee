/* What only one family of mixtures of experts has. Sources: the configurations published with the weights and
 * modeling_*.py of the transformers library (release 4.57). */
#include <string.h>

#include "cJSON.h"
#include "config_family.h"

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
