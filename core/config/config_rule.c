#include <string.h>

#include "config/config_family.h"

static const struct {
    const char *model_type;
    gp_family_rule *rule;
} rules[] = {
    {"qwen", gp_rule_qwen},
    {"qwen2", gp_rule_qwen2},
    {"qwen3", gp_rule_qwen2},
    {"phi", gp_rule_phi},
    {"gpt_bigcode", gp_rule_gpt_bigcode},
    {"opt", gp_rule_opt},
    {"falcon", gp_rule_falcon},
    {"mpt", gp_rule_mpt},
    {"stablelm", gp_rule_stablelm},
    {"cohere", gp_rule_cohere},
    {"chatglm", gp_rule_chatglm},
    {"hunyuan_v1_dense", gp_rule_hunyuan},
    {"apertus", gp_rule_apertus},
    {"bitnet", gp_rule_bitnet},
    {"openelm", gp_rule_openelm},
    {GP_PARAMS_FILE, gp_rule_params},
    {"nemotron-nas", gp_rule_nas},
    {"gemma2", gp_rule_windows},
    {"gemma3_text", gp_rule_windows},
    {"gemma3n_text", gp_rule_gemma3n},
    {"gemma4_text", gp_rule_gemma4},
    {"cohere2", gp_rule_windows},
    {"olmo3", gp_rule_windows},
    {"exaone4", gp_rule_windows},
    {"mllama_text_model", gp_rule_mllama},
    {"t5", gp_rule_t5},
    {"gpt_oss", gp_rule_gpt_oss},
    {"qwen2_moe", gp_rule_qwen2},
    {"qwen3_moe", gp_rule_qwen2},
    {"deepseek_v2", gp_rule_deepseek},
    {"deepseek_v3", gp_rule_deepseek},
    {"deepseek_v32", gp_rule_deepseek},
    {"deepseek_v4", gp_rule_deepseek_v4},
    {"kimi_k2", gp_rule_deepseek},
    {"glm_moe_dsa", gp_rule_deepseek},
    {"glm4_moe", gp_rule_glm4_moe},
    {"phimoe", gp_rule_phimoe},
    {"dbrx", gp_rule_dbrx},
    {"minimax_m2", gp_rule_minimax_m2},
    {"hunyuan", gp_rule_hunyuan_moe},
    {"hunyuan_v1_moe", gp_rule_hunyuan_moe},
    {"ernie4_5_moe", gp_rule_ernie_moe},
    {"arctic", gp_rule_arctic},
    {"llama4_text", gp_rule_llama4},
    {"mimo", gp_rule_mimo},
    {"mimo_v2_flash", gp_rule_mimo_v2},
    {"mamba", gp_rule_mamba},
    {"falcon_mamba", gp_rule_mamba},
    {"mamba2", gp_rule_mamba2},
    {"jamba", gp_rule_jamba},
    {"falcon_h1", gp_rule_falcon_h1},
    {"nemotron_h", gp_rule_nemotron_h},
    {"granitemoehybrid", gp_rule_granite_hybrid},
    {"zamba2", gp_rule_zamba2},
    {"lfm2", gp_rule_lfm2},
    {"lfm2_moe", gp_rule_lfm2},
    {"qwen3_next", gp_rule_qwen3_next},
    {"qwen3_5_text", gp_rule_qwen3_next},
    {"qwen3_5_moe_text", gp_rule_qwen3_next},
    {"minimax", gp_rule_minimax},
    {"gguf", gp_rule_stated},
    {"kimi_linear", gp_rule_kimi_linear},
};

gp_family_rule *gp_rule_of(const gp_family *family) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].model_type, family->model_type) == 0) return rules[i].rule;
    }
    return NULL;
}
