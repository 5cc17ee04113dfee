#include <string.h>

#include "config/config.h"
#include "config/config_family.h"
#include "base/text.h"

#define ATTENTION (GP_BIAS_QKV | GP_BIAS_OUTPUT)
#define LINEAR (ATTENTION | GP_BIAS_FFN)
#define LLAMA_KEYS (GP_KEY_ATTENTION_BIAS | GP_KEY_MLP_BIAS)

/* Norms, traits, biases and the keys that change them: modeling_*.py and configuration_*.py of each model_type in the
 * transformers library (facts of release 4.57); for baichuan, chatglm, exaone, internlm, internlm2, minicpm, qwen and yi
 * the configuration and modelling files published with the weights. The catalogue's published counts check every row
 * of which it holds a member. */
static const gp_family families[] = {
    {"llama", GP_NORM_RMS, 2, GP_GATED, 0, LLAMA_KEYS, 0, 0},
    {"yi", GP_NORM_RMS, 2, GP_GATED, 0, 0, 0, 0},
    {"mistral", GP_NORM_RMS, 2, GP_GATED | GP_WINDOW | GP_WINDOW_4096, 0, 0, 0, 0},
    {"qwen", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV, GP_BIAS_QKV, 0, 0, 0},
    {"qwen2", GP_NORM_RMS, 2, GP_GATED, GP_BIAS_QKV, 0, 0, 0},
    {"qwen3", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM, 0, GP_KEY_ATTENTION_BIAS, 0, 128},
    {"gemma", GP_NORM_RMS, 2, GP_GATED | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 256},
    {"phi", GP_NORM_LAYER, 1, 0, LINEAR | GP_BIAS_HEAD, 0, 0, 0},
    {"phi3", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV | GP_FUSED_GATE_UP | GP_WINDOW, 0, 0, 0, 0},
    {"gpt2", GP_NORM_LAYER, 2, GP_TIED | GP_LEARNED | GP_FUSED_QKV, LINEAR, 0, 4, 0},
    {"gpt_neox", GP_NORM_LAYER, 2, GP_FUSED_QKV, LINEAR, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"gptj", GP_NORM_LAYER, 1, 0, GP_BIAS_FFN | GP_BIAS_HEAD, 0, 4, 0},
    {"gpt_bigcode", GP_NORM_LAYER, 2, GP_TIED | GP_LEARNED | GP_FUSED_QKV, LINEAR, 0, 4, 0},
    {"starcoder2", GP_NORM_LAYER, 2, GP_TIED | GP_WINDOW, LINEAR, GP_KEY_USE_BIAS, 0, 0},
    {"opt", GP_NORM_LAYER, 2, GP_TIED | GP_LEARNED, LINEAR, GP_KEY_ENABLE_BIAS, 0, 0},
    {"bloom", GP_NORM_LAYER, 2, GP_TIED | GP_EMBEDDING_NORM | GP_FUSED_QKV, LINEAR, 0, 4, 0},
    {"falcon", GP_NORM_LAYER, 1, GP_TIED | GP_FUSED_QKV, 0, GP_KEY_BIAS, 4, 0},
    {"mpt", GP_NORM_LAYER_NO_BIAS, 2, GP_TIED | GP_FUSED_QKV, 0, 0, 4, 0},
    {"stablelm", GP_NORM_LAYER, 2, GP_GATED, 0, GP_KEY_USE_QKV_BIAS, 0, 0},
    {"cohere", GP_NORM_LAYER_NO_BIAS, 1, GP_GATED | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"olmo", GP_NORM_NONE, 2, GP_GATED, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"olmo2", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM | GP_QK_NORM_PER_HEAD, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"nemotron", GP_NORM_LAYER, 2, 0, 0, LLAMA_KEYS, 0, 0},
    {"granite", GP_NORM_RMS, 2, GP_GATED, 0, LLAMA_KEYS, 0, 0},
    {"smollm3", GP_NORM_RMS, 2, GP_GATED | GP_TIED, 0, LLAMA_KEYS, 0, 0},
    {"minicpm", GP_NORM_RMS, 2, GP_GATED | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"internlm", GP_NORM_RMS, 2, GP_GATED, ATTENTION, GP_KEY_BIAS_ATTENTION, 0, 0},
    {"internlm2", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV, ATTENTION, GP_KEY_BIAS_ATTENTION, 0, 0},
    {"internlm3", GP_NORM_RMS, 2, GP_GATED, 0, GP_KEY_QKV_BIAS | GP_KEY_BIAS_OUTPUT_FFN, 0, 0},
    {"baichuan", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV, 0, 0, 0, 0},
    {"chatglm", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_QKV | GP_FUSED_GATE_UP, 0,
     GP_KEY_ADD_BIAS_LINEAR | GP_KEY_ADD_QKV_BIAS, 0, 0},
    {"glm", GP_NORM_RMS, 2, GP_GATED | GP_FUSED_GATE_UP, 0, GP_KEY_ATTENTION_BIAS_QKV, 0, 128},
    {"glm4", GP_NORM_RMS, 4, GP_GATED | GP_FUSED_GATE_UP, 0, GP_KEY_ATTENTION_BIAS_QKV, 0, 128},
    {"ernie4_5", GP_NORM_RMS, 2, GP_GATED | GP_TIED, 0, GP_KEY_USE_BIAS, 0, 128},
    {"exaone", GP_NORM_RMS, 2, GP_GATED, 0, 0, 0, 0},
    {"seed_oss", GP_NORM_RMS, 2, GP_GATED, GP_BIAS_QKV,
     GP_KEY_ATTENTION_BIAS_QKV | GP_KEY_OUT_BIAS | GP_KEY_MLP_BIAS, 0, 128},
    {"orion", GP_NORM_LAYER, 2, GP_GATED, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"bitnet", GP_NORM_RMS, 3, GP_GATED | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"apertus", GP_NORM_RMS, 2, GP_QK_NORM, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"arcee", GP_NORM_RMS, 2, 0, 0, LLAMA_KEYS, 0, 0},
    {"gpt_neo", GP_NORM_LAYER, 2, GP_TIED | GP_LEARNED, GP_BIAS_OUTPUT | GP_BIAS_FFN, 0, 4, 0},
    {"codegen", GP_NORM_LAYER, 1, GP_FUSED_QKV, GP_BIAS_FFN | GP_BIAS_HEAD, 0, 4, 0},
    {"openelm", GP_NORM_RMS, 2,
     GP_GATED | GP_TIED | GP_NO_FFN | GP_NO_HEADS | GP_FUSED_QKV | GP_FUSED_GATE_UP | GP_OWN_LAYERS | GP_OWN_CONFIG, 0, 0, 0, 0},
    {GP_PARAMS_FILE, GP_NORM_RMS, 2, GP_GATED | GP_WINDOW | GP_NO_FFN, 0, 0, 0, 0},
    {"hunyuan_v1_dense", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    /* Local and global layers. */
    {"gemma2", GP_NORM_RMS, 4, GP_GATED | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 256},
    {"gemma3_text", GP_NORM_RMS, 4, GP_GATED | GP_TIED | GP_QK_NORM, 0, GP_KEY_ATTENTION_BIAS, 0, 256},
    {"gemma4_text", GP_NORM_RMS, 4, GP_GATED | GP_TIED | GP_QK_NORM | GP_MOE, 0, GP_KEY_ATTENTION_BIAS, 0, 256},
    {"gemma3n_text", GP_NORM_RMS, 4, GP_GATED | GP_TIED | GP_QK_NORM | GP_NO_FFN, 0, 0, 0, 256},
    {"cohere2", GP_NORM_LAYER_NO_BIAS, 1, GP_GATED | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"olmo3", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM | GP_QK_NORM_PER_HEAD, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"exaone4", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM, 0, 0, 0, 0},
    {"mllama_text_model", GP_NORM_RMS, 2, GP_GATED, 0, 0, 0, 0},
    {"t5", GP_NORM_RMS, 2, GP_TIED | GP_OWN_LAYERS, 0, 0, 0, 64},
    /* Mixtures of experts. */
    {"mixtral", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_WINDOW, 0, 0, 0, 0},
    {"gpt_oss", GP_NORM_RMS, 2, GP_GATED | GP_MOE, ATTENTION, GP_KEY_ATTENTION_BIAS, 0, 64},
    {"qwen2_moe", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_SHARED_GATE, GP_BIAS_QKV, 0, 0, 0},
    {"qwen3_moe", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_QK_NORM, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"deepseek", GP_NORM_RMS, 2, GP_GATED | GP_MOE, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"deepseek_v2", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_MLA, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"deepseek_v3", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_MLA | GP_CORRECTION, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"deepseek_v32", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_MLA | GP_CORRECTION, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"deepseek_v4", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_CORRECTION | GP_OWN_LAYERS | GP_NO_FFN, 0, 0, 0, 512},
    {"kimi_k2", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_MLA | GP_CORRECTION, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"glm_moe_dsa", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_MLA | GP_CORRECTION, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"minicpm3", GP_NORM_RMS, 2, GP_GATED | GP_TIED | GP_MLA, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"glm4_moe", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_CORRECTION, 0, GP_KEY_ATTENTION_BIAS_QKV, 0, 128},
    {"dots1", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_CORRECTION | GP_QK_NORM, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"bailing_moe", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_FUSED_QKV, 0, GP_KEY_USE_QKV_BIAS, 0, 0},
    {"bailing_moe_v2", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_FUSED_QKV | GP_QK_NORM | GP_CORRECTION, 0,
     GP_KEY_USE_QKV_BIAS, 0, 0},
    {"phimoe", GP_NORM_LAYER, 2, GP_GATED | GP_MOE, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"olmoe", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_QK_NORM | GP_QK_NORM_PER_HEAD, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"dbrx", GP_NORM_LAYER_NO_BIAS, 2, GP_GATED | GP_FUSED_QKV | GP_NO_FFN, 0, 0, 0, 0},
    {"grok_1", GP_NORM_RMS, 4, GP_GATED | GP_MOE | GP_TIED, 0, 0, 0, 0},
    {"minimax_m2", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_CORRECTION | GP_QK_NORM | GP_QK_NORM_PER_HEAD, 0, 0, 0, 0},
    {"hunyuan", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"hunyuan_v1_moe", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_TIED, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"ernie4_5_moe", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_TIED | GP_CORRECTION, 0, GP_KEY_USE_BIAS, 0, 0},
    {"granitemoe", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_FUSED_GATE_UP, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"granitemoeshared", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_FUSED_GATE_UP, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"arctic", GP_NORM_RMS, 3, GP_GATED | GP_MOE, 0, GP_KEY_ATTENTION_BIAS, 0, 0},
    {"llama4_text", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_OWN_LAYERS, 0, GP_KEY_ATTENTION_BIAS, 0, 128},
    {"mimo", GP_NORM_RMS, 2, GP_GATED, GP_BIAS_QKV, GP_KEY_ATTENTION_BIAS_QKV, 0, 0},
    {"mimo_v2_flash", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_CORRECTION | GP_OWN_LAYERS | GP_OWN_CONFIG, 0,
     GP_KEY_ATTENTION_BIAS_QKV, 0, 0},
    /* State-space and linear-attention layers. */
    {"mamba", GP_NORM_RMS, 1, GP_TIED | GP_NO_FFN | GP_NO_HEADS | GP_OWN_LAYERS, 0, 0, 0, 0},
    {"falcon_mamba", GP_NORM_RMS, 1, GP_TIED | GP_NO_FFN | GP_NO_HEADS | GP_OWN_LAYERS, 0, 0, 0, 0},
    {"mamba2", GP_NORM_RMS, 1, GP_NO_FFN | GP_NO_HEADS | GP_OWN_LAYERS, 0, 0, 0, 0},
    {"jamba", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_OWN_LAYERS, 0, 0, 0, 0},
    {"falcon_h1", GP_NORM_RMS, 2, GP_GATED | GP_OWN_LAYERS, 0, LLAMA_KEYS, 0, 0},
    {"nemotron_h", GP_NORM_RMS, 1, GP_NO_FFN | GP_OWN_LAYERS, 0, LLAMA_KEYS, 0, 128},
    {"granitemoehybrid", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_TIED | GP_FUSED_GATE_UP | GP_OWN_LAYERS, 0,
     GP_KEY_ATTENTION_BIAS, 0, 0},
    {"zamba2", GP_NORM_RMS, 1, GP_TIED | GP_OWN_LAYERS | GP_NO_FFN, 0, 0, 0, 0},
    {"lfm2", GP_NORM_RMS, 2, GP_GATED | GP_TIED | GP_QK_NORM | GP_OWN_LAYERS | GP_NO_FFN, 0, 0, 0, 0},
    {"lfm2_moe", GP_NORM_RMS, 2, GP_GATED | GP_TIED | GP_QK_NORM | GP_MOE | GP_OWN_LAYERS, 0, 0, 0, 0},
    {"qwen3_next", GP_NORM_RMS, 2,
     GP_GATED | GP_MOE | GP_SHARED_GATE | GP_QK_NORM | GP_Q_GATE | GP_OWN_LAYERS | GP_NO_FFN, 0, GP_KEY_ATTENTION_BIAS, 0, 256},
    {"qwen3_5_text", GP_NORM_RMS, 2, GP_GATED | GP_QK_NORM | GP_Q_GATE | GP_OWN_LAYERS, 0, GP_KEY_ATTENTION_BIAS, 0,
     256},
    {"qwen3_5_moe_text", GP_NORM_RMS, 2,
     GP_GATED | GP_MOE | GP_SHARED_GATE | GP_QK_NORM | GP_Q_GATE | GP_OWN_LAYERS | GP_NO_FFN, 0, GP_KEY_ATTENTION_BIAS, 0, 256},
    {"minimax", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_OWN_LAYERS, 0, 0, 0, 0},
    {"nemotron-nas", GP_NORM_RMS, 0, GP_GATED | GP_OWN_LAYERS | GP_NO_FFN, 0, LLAMA_KEYS, 0, 0},
    {"gguf", GP_NORM_NONE, 0, GP_GATED | GP_MOE | GP_NO_FINAL_NORM | GP_NO_FFN, 0, 0, 0, 0},
    {"kimi_linear", GP_NORM_RMS, 2, GP_GATED | GP_MOE | GP_MLA | GP_CORRECTION | GP_OWN_LAYERS, 0, 0, 0, 0},
};

/* Other names of the same family: of the whole model around the text, of the text inside, of a copy. */
static const struct {
    const char *model_type, *family;
} names[] = {
    {"gemma3", "gemma3_text"}, {"gemma3n", "gemma3n_text"}, {"gemma4", "gemma4_text"}, {"llama4", "llama4_text"},
    {"mllama", "mllama_text_model"}, {"mistral3", "mistral"}, {"ministral3", "mistral"}, {"ministral", "mistral"},
    {"qwen2_vl", "qwen2"}, {"qwen2_5_vl", "qwen2"}, {"qwen2_vl_text", "qwen2"}, {"qwen2_5_vl_text", "qwen2"},
    {"qwen2_5_omni", "qwen2"}, {"qwen2_5_omni_text", "qwen2"}, {"qwen2_audio", "qwen2"}, {"qwen3_vl", "qwen3"},
    {"qwen3_vl_text", "qwen3"}, {"qwen3_vl_moe", "qwen3_moe"}, {"qwen3_vl_moe_text", "qwen3_moe"},
    {"qwen3_omni_moe", "qwen3_moe"}, {"qwen3_omni_moe_text", "qwen3_moe"}, {"qwen3_5", "qwen3_5_text"},
    {"qwen3_5_moe", "qwen3_5_moe_text"}, {"kimi_k25", "kimi_k2"}, {"kimi_k3", "kimi_linear"}, {"grok-1", "grok_1"},
    {"minimax_text_01", "minimax"}, {"minimax_m1", "minimax"}, {"mt5", "t5"}, {"glm4v", "glm4"}, {"glm4v_text", "glm4"},
    {"glm4v_moe", "glm4_moe"}, {"glm4v_moe_text", "glm4_moe"}, {"aquila", "llama"}, {"phi3_v", "phi3"},
    {"phi4mm", "phi3"}, {"dream", "qwen2"}, {"llada", "llama"}, {"rnd1", "qwen3_moe"}, {"stablelm_epoch", "stablelm"},
    {"refinedweb", "falcon"}, {"refinedwebmodel", "falcon"}, {"xverse", "llama"}, {"skywork", "llama"}, {"deci", "llama"},
    {"helium", "llama"}, {"mimo_v2", "mimo_v2_flash"}, {"glm4_moe_lite", "deepseek_v3"},
};
enum { NAME_COUNT = sizeof names / sizeof names[0] };

enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

const gp_family *gp_family_find(const char *model_type) {
    size_t length = strlen(model_type);
    for (int i = 0; i < NAME_COUNT; i++) {
        if (gp_text_is_folded(names[i].model_type, model_type, length)) return gp_family_find(names[i].family);
    }
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
    return strcmp(architecture, "ForCausalLM") == 0 || strcmp(architecture, "LMHeadModel") == 0 ||
           strcmp(architecture, "ForConditionalGeneration") == 0;
}

const gp_family *gp_family_of_architecture(const char *architecture) {
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (names_family(architecture, families[i].model_type)) return &families[i];
    }
    for (int i = 0; i < NAME_COUNT; i++) {
        if (names_family(architecture, names[i].model_type)) return gp_family_find(names[i].family);
    }
    return NULL;
}

void gp_family_structure(const gp_family *family, gp_shape *shape) {
    unsigned traits = family->traits, biases = family->biases;
    shape->model_type = family->model_type;
    shape->norm = (gp_norm)family->norm;
    shape->norms_per_layer = family->norms_per_layer;
    shape->final_norm = (traits & GP_NO_FINAL_NORM) == 0;
    shape->embedding_norm = (traits & GP_EMBEDDING_NORM) != 0;
    shape->gated_ffn = (traits & GP_GATED) != 0;
    shape->tied_embeddings = (traits & GP_TIED) != 0;
    shape->qk_norm = (traits & GP_QK_NORM) != 0;
    shape->qk_norm_per_head = (traits & GP_QK_NORM_PER_HEAD) != 0;
    shape->fused_qkv = (traits & GP_FUSED_QKV) != 0;
    shape->fused_gate_up = (traits & GP_FUSED_GATE_UP) != 0;
    shape->q_gate = (traits & GP_Q_GATE) != 0;
    shape->code = gp_config_code(family->model_type);
    shape->experts.correction_bias = (traits & GP_CORRECTION) != 0;
    shape->experts.shared_gate = (traits & GP_SHARED_GATE) != 0;
    shape->qkv_bias = (biases & GP_BIAS_QKV) != 0;
    shape->output_bias = (biases & GP_BIAS_OUTPUT) != 0;
    shape->ffn_bias = (biases & GP_BIAS_FFN) != 0;
    shape->head_bias = (biases & GP_BIAS_HEAD) != 0;
}

bool gp_config_knows(const char *model_type) {
    const gp_family *family = gp_family_find(model_type);
    return family != NULL && (family->traits & GP_OWN_CONFIG) == 0;
}

bool gp_config_structure(const char *model_type, gp_shape *shape) {
    const gp_family *family = gp_family_find(model_type);
    if (family == NULL || (family->traits & (GP_OWN_LAYERS | GP_MLA)) != 0) return false;
    gp_family_structure(family, shape);
    shape->learned_positions = (family->traits & GP_LEARNED) != 0 ? shape->max_context : 0;
    return true;
}
