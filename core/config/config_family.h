/* config_family.h: what the families of models have in common, one row each, and what only one of them has, one
 * function each. Private to config*.c. A family is a model_type of config.json; its defaults are those of the
 * family's configuration class in the transformers library. */
#ifndef GP_CONFIG_FAMILY_H
#define GP_CONFIG_FAMILY_H

#include "config/config_layers.h"

/* Structure of a family where its config does not say otherwise. */
enum {
    GP_GATED = 1u << 0,            /* gate, up and down */
    GP_TIED = 1u << 1,             /* head shares the token embedding */
    GP_LEARNED = 1u << 2,          /* a table of learned positions, as many rows as the context */
    GP_EMBEDDING_NORM = 1u << 3,
    GP_NO_FINAL_NORM = 1u << 4,
    GP_QK_NORM = 1u << 5,
    GP_QK_NORM_PER_HEAD = 1u << 6,
    GP_FUSED_QKV = 1u << 7,
    GP_FUSED_GATE_UP = 1u << 8,
    /* A sliding window given in the config holds for every layer: read it. 4096 where the key is absent. */
    GP_WINDOW = 1u << 9,
    GP_WINDOW_4096 = 1u << 10,
    GP_MOE = 1u << 11,             /* experts, where the config counts some */
    GP_MLA = 1u << 12,             /* latent attention */
    GP_CORRECTION = 1u << 13,      /* a bias per expert that decides the choice alone */
    GP_SHARED_GATE = 1u << 14,     /* a gate on the shared experts */
    GP_Q_GATE = 1u << 15,          /* q holds a gate on the attention's output */
    GP_NO_FFN = 1u << 16,          /* no intermediate_size needed: none, or experts only */
    GP_NO_HEADS = 1u << 17,        /* no attention */
    GP_OWN_LAYERS = 1u << 18,      /* the rule reads the layers' kinds itself */
    GP_OWN_CONFIG = 1u << 19       /* only a config.json tells its dimensions: GGUF metadata has no names for all */
};

enum { GP_BIAS_QKV = 1u, GP_BIAS_OUTPUT = 2u, GP_BIAS_FFN = 4u, GP_BIAS_HEAD = 8u };

/* Keys of a config that switch biases; the same key covers different matrices in different families. */
enum {
    GP_KEY_ATTENTION_BIAS = 1u << 0,     /* attention_bias: q, k, v and output */
    GP_KEY_ATTENTION_BIAS_QKV = 1u << 1, /* attention_bias: q, k, v */
    GP_KEY_MLP_BIAS = 1u << 2,           /* mlp_bias: FFN */
    GP_KEY_BIAS = 1u << 3,               /* bias: q, k, v, output and FFN */
    GP_KEY_BIAS_ATTENTION = 1u << 4,     /* bias: q, k, v and output */
    GP_KEY_BIAS_OUTPUT_FFN = 1u << 5,    /* bias: output and FFN */
    GP_KEY_QKV_BIAS = 1u << 6,           /* qkv_bias: q, k, v */
    GP_KEY_USE_QKV_BIAS = 1u << 7,       /* use_qkv_bias: q, k, v */
    GP_KEY_USE_BIAS = 1u << 8,           /* use_bias: q, k, v, output and FFN */
    GP_KEY_ENABLE_BIAS = 1u << 9,        /* enable_bias: q, k, v, output and FFN */
    GP_KEY_ADD_QKV_BIAS = 1u << 10,      /* add_qkv_bias: q, k, v */
    GP_KEY_ADD_BIAS_LINEAR = 1u << 11,   /* add_bias_linear: output and FFN */
    GP_KEY_OUT_BIAS = 1u << 12           /* attention_out_bias: output */
};

/* Reads what only this family has. Runs after the common keys, so it may overrule them. */
typedef void gp_family_rule(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan);

/* Row of configs that Mistral and Meta publish beside their own weights, params.json, which name no family. */
#define GP_PARAMS_FILE "params.json"

typedef struct {
    const char *model_type;
    uint8_t norm;        /* gp_norm */
    uint8_t norms_per_layer;
    uint32_t traits;     /* GP_GATED … */
    uint8_t biases;      /* GP_BIAS_* by default */
    uint16_t bias_keys;  /* GP_KEY_* that the family reads */
    uint8_t ffn_factor;  /* FFN width as a multiple of hidden where none is given, 0 = it must be given */
    uint16_t head_dim;   /* head size where none is given, 0 = hidden / heads */
} gp_family;

/* Family of a model_type, or of an architecture name such as "LlamaForCausalLM"; NULL when unknown. */
const gp_family *gp_family_find(const char *model_type);
const gp_family *gp_family_of_architecture(const char *architecture);

/* What only this family has, or NULL when it has nothing of its own. Apart from the structure, which alone a shape with
 * a `style` needs. */
gp_family_rule *gp_rule_of(const gp_family *family);

/* Sets the structure (norms, biases, gating, tying; no dimension) of a family. */
void gp_family_structure(const gp_family *family, gp_shape *shape);

/* What the first of `architectures` says beside the model_type: no head of a language model for a classifier or for the
 * bare model, whose head is then left out of `shape` (HEAD_ABSENT), or another family than `family`, where the two differ
 * in structure (FAMILY_DIFFERS). */
void gp_config_architecture(gp_config_reader *reader, const gp_family *family, gp_shape *shape);

/* Vision and audio towers beside the language model at `reader`. */
void gp_config_towers(gp_config_reader *reader, gp_shape *shape);

/* config_rules.c: dense families. */
gp_family_rule gp_rule_opt, gp_rule_gpt_bigcode, gp_rule_falcon, gp_rule_mpt, gp_rule_phi, gp_rule_cohere,
    gp_rule_stablelm, gp_rule_chatglm, gp_rule_qwen, gp_rule_qwen2, gp_rule_hunyuan, gp_rule_apertus, gp_rule_nas,
    gp_rule_bitnet, gp_rule_params, gp_rule_openelm;
/* config_windows.c: local and global layers, keys and values shared across layers, encoders. */
gp_family_rule gp_rule_windows, gp_rule_llama4, gp_rule_gemma3n, gp_rule_gemma4, gp_rule_hunyuan_moe, gp_rule_mllama,
    gp_rule_t5;
/* config_compressed.c: attention over compressed entries. */
gp_family_rule gp_rule_deepseek_v4;
/* config_moe.c: mixtures of experts. */
gp_family_rule gp_rule_deepseek, gp_rule_glm4_moe, gp_rule_gpt_oss, gp_rule_dbrx, gp_rule_arctic, gp_rule_ernie_moe,
    gp_rule_phimoe, gp_rule_minimax_m2, gp_rule_mimo, gp_rule_mimo_v2;
/* config_stated.c: structure as the tensors of a file tell it. */
gp_family_rule gp_rule_stated;
/* config_hybrid.c, config_linear.c: state-space and linear-attention layers. */
gp_family_rule gp_rule_mamba, gp_rule_mamba2, gp_rule_jamba, gp_rule_falcon_h1, gp_rule_nemotron_h,
    gp_rule_granite_hybrid, gp_rule_zamba2, gp_rule_lfm2, gp_rule_qwen3_next, gp_rule_minimax, gp_rule_kimi_linear;

#endif
