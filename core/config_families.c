#include <string.h>

#include "config_family.h"
#include "text.h"

#define ATTENTION (GP_BIAS_QKV | GP_BIAS_OUTPUT)
#define LINEAR (ATTENTION | GP_BIAS_FFN)
#define LLAMA_KEYS (GP_KEY_ATTENTION_BIAS | GP_KEY_MLP_BIAS)

/* Norms, traits, biases and the keys that change them: modeling_*.py and configuration_*.py of each model_type in the
 * transformers library (facts of release 4.57); for baichuan, chatglm, exaone, internlm, internlm2, minicpm, qwen and yi
 * the configuration and modelling files published with the weights. The catalogue's published counts check every row
 * of which it holds a member. */
static const gp_family families[] = {
    {"llama", GP_NORM_RMS, 2, GP_GATED, 0, LLAMA_KEYS, 0, 0, NULL},
    {"yi", GP_NORM_RMS, 2, GP_GATED, 0, 0, 0, 0, NULL},
    {"mistral", GP_NORM_RMS, 2, GP_GATED | GP_WINDOW | GP_WINDOW_4096, 0, 0, 0, 0, NULL},
    {"qwen", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV, GP_BIAS_QKV, 0, 0, 0, gp_rule_qwen},
    {"qwen2", GP_NORM_RMS, 2, GP_GATED, GP_BIAS_QKV, 0, 0, 0, gp_rule_qwen2},
    {"qwen3", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM, 0, GP_KEY_ATTENTION_BIAS, 0, 128, gp_rule_qwen2},
    {"gemma", GP_NORM_RMS, 2, GP_GATED | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 256, NULL},
    {"phi", GP_NORM_LAYER, 1, 0, LINEAR | GP_BIAS_HEAD, 0, 0, 0, gp_rule_phi},
    {"phi3", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV | GP_FUSED_GATE_UP | GP_WINDOW, 0, 0, 0, 0, NULL},
    {"gpt2", GP_NORM_LAYER, 2, GP_TIED | GP_LEARNED | GP_FUSED_QKV, LINEAR, 0, 4, 0, NULL},
    {"gpt_neox", GP_NORM_LAYER, 2, GP_FUSED_QKV, LINEAR, GP_KEY_ATTENTION_BIAS, 0, 0, NULL},
    {"gptj", GP_NORM_LAYER, 1, 0, GP_BIAS_FFN | GP_BIAS_HEAD, 0, 4, 0, NULL},
    {"gpt_bigcode", GP_NORM_LAYER, 2, GP_TIED | GP_LEARNED | GP_FUSED_QKV, LINEAR, 0, 4, 0, gp_rule_gpt_bigcode},
    {"starcoder2", GP_NORM_LAYER, 2, GP_TIED | GP_WINDOW, LINEAR, GP_KEY_USE_BIAS, 0, 0, NULL},
    {"opt", GP_NORM_LAYER, 2, GP_TIED | GP_LEARNED, LINEAR, GP_KEY_ENABLE_BIAS, 0, 0, gp_rule_opt},
    {"bloom", GP_NORM_LAYER, 2, GP_TIED | GP_EMBEDDING_NORM | GP_FUSED_QKV, LINEAR, 0, 4, 0, NULL},
    {"falcon", GP_NORM_LAYER, 1, GP_TIED | GP_FUSED_QKV, 0, GP_KEY_BIAS, 4, 0, gp_rule_falcon},
    {"mpt", GP_NORM_LAYER_NO_BIAS, 2, GP_TIED | GP_FUSED_QKV, 0, 0, 4, 0, gp_rule_mpt},
    {"stablelm", GP_NORM_LAYER, 2, GP_GATED, 0, GP_KEY_USE_QKV_BIAS, 0, 0, gp_rule_stablelm},
    {"cohere", GP_NORM_LAYER_NO_BIAS, 1, GP_GATED | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 0, gp_rule_cohere},
    {"olmo", GP_NORM_NONE, 2, GP_GATED, 0, GP_KEY_ATTENTION_BIAS, 0, 0, NULL},
    {"olmo2", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM | GP_QK_NORM_PER_HEAD, 0, GP_KEY_ATTENTION_BIAS, 0, 0, NULL},
    {"nemotron", GP_NORM_LAYER, 2, 0, 0, LLAMA_KEYS, 0, 0, NULL},
    {"granite", GP_NORM_RMS, 2, GP_GATED, 0, LLAMA_KEYS, 0, 0, NULL},
    {"granitemoehybrid", GP_NORM_RMS, 2, GP_GATED | GP_TIED | GP_FUSED_GATE_UP, 0, GP_KEY_ATTENTION_BIAS, 0, 0,
     gp_rule_granite_hybrid},
    {"smollm3", GP_NORM_RMS, 2, GP_GATED | GP_TIED, 0, LLAMA_KEYS, 0, 0, NULL},
    {"minicpm", GP_NORM_RMS, 2, GP_GATED | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 0, NULL},
    {"internlm", GP_NORM_RMS, 2, GP_GATED, ATTENTION, GP_KEY_BIAS_ATTENTION, 0, 0, NULL},
    {"internlm2", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV, ATTENTION, GP_KEY_BIAS_ATTENTION, 0, 0, NULL},
    {"internlm3", GP_NORM_RMS, 2, GP_GATED, 0, GP_KEY_QKV_BIAS | GP_KEY_BIAS_OUTPUT_FFN, 0, 0, NULL},
    {"baichuan", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV, 0, 0, 0, 0, NULL},
    {"chatglm", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV | GP_FUSED_GATE_UP, 0,
     GP_KEY_ADD_BIAS_LINEAR | GP_KEY_ADD_QKV_BIAS, 0, 0, gp_rule_chatglm},
    {"glm", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_GATE_UP, 0, GP_KEY_ATTENTION_BIAS_QKV, 0, 128, NULL},
    {"glm4", GP_NORM_RMS, 4, GP_GATED | GP_FUSED_GATE_UP, 0, GP_KEY_ATTENTION_BIAS_QKV, 0, 128, NULL},
    {"ernie4_5", GP_NORM_RMS, 2, GP_GATED | GP_TIED, 0, GP_KEY_USE_BIAS, 0, 128, NULL},
    {"exaone", GP_NORM_RMS, 2, GP_GATED, 0, 0, 0, 0, NULL},
    {"exaone4", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM, 0, 0, 0, 0, gp_rule_exaone4},
    {"hunyuan_v1_dense", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM, 0, GP_KEY_ATTENTION_BIAS, 0, 0, gp_rule_hunyuan},
};

enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

const gp_family *gp_family_find(const char *model_type) {
    size_t length = strlen(model_type);
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (gp_text_is_folded(families[i].model_type, model_type, length)) return &families[i];
    }
    return NULL;
}

/* True when `architecture` starts with the letters and digits of `model_type`, ignoring case, and goes on with the
 * name of a language model head. */
static bool names_family(const char *architecture, const char *model_type) {
    for (; *model_type != '\0'; model_type++) {
        if (*model_type == '_') continue;
        while (*architecture == '_') architecture++;
        if (gp_lower(*architecture) != gp_lower(*model_type)) return false;
        architecture++;
    }
    return strcmp(architecture, "ForCausalLM") == 0 || strcmp(architecture, "LMHeadModel") == 0;
}

const gp_family *gp_family_of_architecture(const char *architecture) {
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (names_family(architecture, families[i].model_type)) return &families[i];
    }
    return NULL;
}

void gp_family_structure(const gp_family *family, gp_shape *shape) {
    unsigned traits = family->traits, biases = family->biases;
    shape->model_type = family->model_type;
    shape->norm = family->norm;
    shape->norms_per_layer = family->norms_per_layer;
    shape->final_norm = (traits & GP_NO_FINAL_NORM) == 0;
    shape->embedding_norm = (traits & GP_EMBEDDING_NORM) != 0;
    shape->gated_ffn = (traits & GP_GATED) != 0;
    shape->tied_embeddings = (traits & GP_TIED) != 0;
    shape->qk_norm = (traits & GP_QK_NORM) != 0;
    shape->qk_norm_per_head = (traits & GP_QK_NORM_PER_HEAD) != 0;
    shape->fused_qkv = (traits & GP_FUSED_QKV) != 0;
    shape->fused_gate_up = (traits & GP_FUSED_GATE_UP) != 0;
    shape->qkv_bias = (biases & GP_BIAS_QKV) != 0;
    shape->output_bias = (biases & GP_BIAS_OUTPUT) != 0;
    shape->ffn_bias = (biases & GP_BIAS_FFN) != 0;
    shape->head_bias = (biases & GP_BIAS_HEAD) != 0;
}
