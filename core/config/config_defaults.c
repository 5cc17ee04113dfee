/* Numbers that a config may leave to its class. Source: configuration_*.py of each model_type in the transformers library
 * (github.com/huggingface/transformers, src/transformers/models). A family without a row has no number of its own for
 * the key: its class counts as many KV heads as heads, no shared experts, no dense layers first. */
#include <string.h>

#include "base/text.h"
#include "cJSON.h"
#include "config/config_family.h"

/* GP_REQUIRED where the class is published with the weights alone and its numbers are not known here. */
static const struct {
    const char *model_type, *key;
    int64_t value;
} defaults[] = {
    {"mistral", "num_key_value_heads", 8},
    {"mixtral", "num_key_value_heads", 8},
    {"gemma", "num_key_value_heads", 16},
    {"gemma2", "num_key_value_heads", 4},
    {"gemma3_text", "num_key_value_heads", 4},
    {"gemma3n_text", "num_key_value_heads", 2},
    {"gemma4_text", "num_key_value_heads", 4},
    {"gpt_oss", "num_key_value_heads", 8},
    {"qwen2", "num_key_value_heads", 32},
    {"qwen3", "num_key_value_heads", 32},
    {"qwen2_moe", "num_key_value_heads", 16},
    {"qwen2_moe", "moe_intermediate_size", 1408},
    {"qwen2_moe", "shared_expert_intermediate_size", 5632},
    {"qwen3_moe", "num_key_value_heads", 4},
    {"qwen3_moe", "moe_intermediate_size", 768},
    {"qwen3_vl_moe_text", "num_key_value_heads", 16},
    {"qwen3_vl_moe_text", "moe_intermediate_size", 1408},
    {"qwen3_next", "num_key_value_heads", 2},
    {"qwen3_next", "moe_intermediate_size", 512},
    {"qwen3_next", "shared_expert_intermediate_size", 512},
    {"qwen3_5_text", "num_key_value_heads", 4},
    {"qwen3_5_moe_text", "num_key_value_heads", 2},
    {"qwen3_5_moe_text", "moe_intermediate_size", 512},
    {"qwen3_5_moe_text", "shared_expert_intermediate_size", 512},
    {"deepseek_v2", "moe_intermediate_size", 1407},
    {"deepseek_v2", "n_shared_experts", 2},
    {"deepseek_v2", "q_lora_rank", 1536},
    {"deepseek_v3", "moe_intermediate_size", 2048},
    {"deepseek_v3", "n_shared_experts", 1},
    {"deepseek_v3", "first_k_dense_replace", 3},
    {"deepseek_v3", "q_lora_rank", 1536},
    {"deepseek_v32", "moe_intermediate_size", 2048},
    {"deepseek_v32", "n_shared_experts", 1},
    {"deepseek_v32", "first_k_dense_replace", 3},
    {"deepseek_v32", "q_lora_rank", 1536},
    {"deepseek_v4", "moe_intermediate_size", 2048},
    {"deepseek_v4", "n_shared_experts", 1},
    {"deepseek_v4", "num_key_value_heads", 1},
    {"glm_moe_dsa", "moe_intermediate_size", 2048},
    {"glm_moe_dsa", "n_shared_experts", 1},
    {"glm_moe_dsa", "first_k_dense_replace", 3},
    {"glm_moe_dsa", "q_lora_rank", 2048},
    {"glm_moe_dsa", "qk_nope_head_dim", 192},
    {"glm_moe_dsa", "v_head_dim", 256},
    {"kimi_k2", "n_shared_experts", GP_REQUIRED},
    {"kimi_k2", "first_k_dense_replace", GP_REQUIRED},
    {"kimi_k2", "q_lora_rank", GP_REQUIRED},
    {"kimi_linear", "n_shared_experts", GP_REQUIRED},
    {"kimi_linear", "first_k_dense_replace", GP_REQUIRED},
    {"kimi_linear", "q_lora_rank", GP_REQUIRED},
    {"glm4", "num_key_value_heads", 2},
    {"glm4_moe", "num_key_value_heads", 8},
    {"glm4_moe", "moe_intermediate_size", 1408},
    {"glm4_moe", "n_shared_experts", 1},
    {"glm4_moe", "first_k_dense_replace", 1},
    {"dots1", "moe_intermediate_size", 1408},
    {"ernie4_5_moe", "num_key_value_heads", 4},
    {"ernie4_5_moe", "moe_intermediate_size", 1536},
    {"ernie4_5_moe", "n_shared_experts", 2},
    {"ernie4_5_moe", "first_k_dense_replace", 1},
    {"phimoe", "num_key_value_heads", 8},
    {"llama4_text", "num_key_value_heads", 8},
    {"llama4_text", "attention_chunk_size", 8192},
    {"llama4_text", "intermediate_size_mlp", 16384},
    {"starcoder2", "num_key_value_heads", 2},
    {"jamba", "num_key_value_heads", 8},
    {"lfm2", "num_key_value_heads", 8},
    {"lfm2_moe", "num_key_value_heads", 8},
    {"lfm2_moe", "moe_intermediate_size", 1792},
    {"lfm2_moe", "first_k_dense_replace", 2},
    {"nemotron_h", "num_key_value_heads", 8},
    {"nemotron_h", "moe_intermediate_size", 7688},
    {"nemotron_h", "shared_expert_intermediate_size", 7688},
    {"nemotron_h", "mamba_n_groups", 8},
};
enum { DEFAULT_COUNT = sizeof defaults / sizeof defaults[0] };

/* The name of the class that a config is read by, "" for a part of another that does not say. */
static const char *class_of(const gp_config_reader *reader, const char *family) {
    const cJSON *type = gp_config_item(reader, "model_type");
    if (cJSON_IsString(type)) return type->valuestring;
    return reader->inside ? "" : family;
}

/* The whole model's name stands for its text's. */
static bool is_class(const char *row, const char *name) {
    size_t length = strlen(name);
    if (gp_text_is_folded(row, name, length)) return true;
    size_t known = strlen(row), suffix = strlen("_text");
    if (known != length + suffix || strcmp(row + length, "_text") != 0) return false;
    for (size_t i = 0; i < length; i++) {
        if (gp_lower(row[i]) != gp_lower(name[i])) return false;
    }
    return true;
}

/* True where one of `keys` stands in the config, if only as null: its class then has no say. */
static bool is_written(const gp_config_reader *reader, const char *keys) {
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, reader->object) {
        size_t length = item->string == NULL ? 0 : strlen(item->string);
        for (const char *key = keys; *key != '\0' && length > 0; key += strcspn(key, "|"), key += *key == '|') {
            if (strcspn(key, "|") == length && strncmp(key, item->string, length) == 0) return true;
        }
    }
    return false;
}

int64_t gp_config_default(const gp_config_reader *reader, const char *family, const char *keys, int64_t otherwise) {
    const char *name = class_of(reader, family);
    size_t length = strcspn(keys, "|");
    bool of_family = false;
    if (is_written(reader, keys)) return otherwise;
    for (int i = 0; i < DEFAULT_COUNT; i++) {
        if (strlen(defaults[i].key) != length || strncmp(defaults[i].key, keys, length) != 0) continue;
        if (is_class(defaults[i].model_type, name)) return defaults[i].value;
        if (strcmp(defaults[i].model_type, family) == 0) of_family = true;
    }
    /* The class of a copy has numbers of its own. */
    return of_family ? GP_REQUIRED : otherwise;
}

int64_t gp_expert_width(const gp_config_reader *reader, const gp_shape *shape) {
    static const char *const as_wide[] = {"mixtral", "gpt_oss", "phimoe", "olmoe", "grok_1", "minimax_m2", "minimax",
                                          "hunyuan", "hunyuan_v1_moe", "granitemoe", "granitemoeshared",
                                          "granitemoehybrid", "arctic", "llama4_text", "jamba", "gguf"};
    int64_t width = GP_REQUIRED;
    for (size_t i = 0; i < sizeof as_wide / sizeof as_wide[0]; i++) {
        if (strcmp(as_wide[i], shape->model_type) == 0) width = shape->ffn;
    }
    return gp_config_default(reader, shape->model_type, "moe_intermediate_size", width);
}
