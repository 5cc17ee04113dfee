#include "files/gguf_config.h"

#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "config/config.h"
#include "files/gguf_structure.h"
#include "config/shape.h"
#include "base/text.h"

/* What the tensors of a file say about biases and norms, each under the key of its family's config. */
enum {
    ATTENTION_BIAS = 1u << 0, MLP_BIAS = 1u << 1, USE_BIAS = 1u << 2, QKV_BIAS = 1u << 3, QK_LAYERNORM = 1u << 4,
    QK_NORM = 1u << 5, FALCON = 1u << 6, NO_BIAS = 1u << 7
};

static const struct {
    const char *architecture, *model_type;
    unsigned reads;
} families[] = {
    {"llama", "llama", ATTENTION_BIAS | MLP_BIAS}, {"llama4", "llama4_text", ATTENTION_BIAS},
    {"mistral3", "llama", 0},                      {"qwen", "qwen", 0},
    {"qwen2", "qwen2", 0},                         {"qwen2vl", "qwen2", 0},
    {"qwen2moe", "qwen2_moe", 0},                  {"qwen3", "qwen3", ATTENTION_BIAS},
    {"qwen3vl", "qwen3", ATTENTION_BIAS},          {"qwen3moe", "qwen3_moe", ATTENTION_BIAS},
    {"qwen3vlmoe", "qwen3_moe", ATTENTION_BIAS},   {"qwen3next", "qwen3_next", 0},
    {"qwen35", "qwen3_5_text", 0},                 {"qwen35moe", "qwen3_5_moe_text", 0},
    {"gemma", "gemma", 0},                         {"gemma2", "gemma2", 0},
    {"gemma3", "gemma3_text", 0},                  {"gemma3n", "gemma3n_text", 0},
    {"gemma4", "gemma4_text", 0},                  {"phi2", "phi", 0},
    {"phi3", "phi3", 0},                           {"phimoe", "phimoe", ATTENTION_BIAS},
    {"gpt2", "gpt2", 0},                           {"gptneox", "gpt_neox", 0},
    {"gptj", "gptj", 0},                           {"bloom", "bloom", 0},
    {"falcon", "falcon", FALCON},                  {"falcon-h1", "falcon_h1", ATTENTION_BIAS | MLP_BIAS},
    {"mpt", "mpt", NO_BIAS},                       {"starcoder", "gpt_bigcode", 0},
    {"starcoder2", "starcoder2", USE_BIAS},        {"stablelm", "stablelm", QKV_BIAS | QK_LAYERNORM},
    {"command-r", "cohere", ATTENTION_BIAS | QK_NORM}, {"cohere2", "cohere2", ATTENTION_BIAS},
    {"olmo", "olmo", ATTENTION_BIAS},              {"olmo2", "olmo2", ATTENTION_BIAS},
    {"olmoe", "olmoe", ATTENTION_BIAS},            {"nemotron", "nemotron", ATTENTION_BIAS | MLP_BIAS},
    {"nemotron_h", "nemotron_h", ATTENTION_BIAS | MLP_BIAS},
    {"nemotron_h_moe", "nemotron_h", ATTENTION_BIAS | MLP_BIAS},
    {"granite", "granite", ATTENTION_BIAS | MLP_BIAS}, {"granitemoe", "granitemoe", ATTENTION_BIAS},
    {"granitehybrid", "granitemoehybrid", ATTENTION_BIAS}, {"smollm3", "smollm3", ATTENTION_BIAS | MLP_BIAS},
    {"minicpm", "minicpm", ATTENTION_BIAS},        {"minicpm3", "minicpm3", ATTENTION_BIAS},
    {"internlm2", "internlm2", 0},                 {"baichuan", "baichuan", 0},
    {"xverse", "llama", 0},                        {"orion", "orion", 0},
    {"chatglm", "chatglm", QKV_BIAS},              {"glm4", "glm4", ATTENTION_BIAS},
    {"glm4moe", "glm4_moe", ATTENTION_BIAS},       {"glm-dsa", "glm_moe_dsa", ATTENTION_BIAS},
    {"ernie4_5", "ernie4_5", USE_BIAS},            {"ernie4_5-moe", "ernie4_5_moe", USE_BIAS},
    {"exaone", "exaone", 0},                       {"exaone4", "exaone4", 0},
    {"hunyuan-dense", "hunyuan_v1_dense", ATTENTION_BIAS | QK_NORM},
    {"hunyuan-moe", "hunyuan_v1_moe", ATTENTION_BIAS | QK_NORM},
    {"deepseek", "deepseek", ATTENTION_BIAS},      {"deepseek2", "deepseek_v2", ATTENTION_BIAS},
    {"deepseek4", "deepseek_v4", 0},
    {"gpt-oss", "gpt_oss", ATTENTION_BIAS},        {"mamba", "mamba", 0},
    {"mamba2", "mamba2", 0},                       {"jamba", "jamba", 0},
    {"lfm2", "lfm2", 0},                           {"lfm2moe", "lfm2_moe", 0},
    {"kimi-linear", "kimi_linear", 0},             {"minimax-m2", "minimax_m2", 0},
    {"arctic", "arctic", ATTENTION_BIAS},          {"dbrx", "dbrx", 0},
    {"grok", "grok_1", 0},                         {"t5", "t5", 0},
    {"mimo2", "mimo_v2_flash", 0},                 {"seed_oss", "seed_oss", ATTENTION_BIAS},
};

/* Keys behind "<architecture>." and what a config calls them. Those of families with names of their own follow below. */
static const struct {
    const char *key, *name;
} numbers[] = {
    {"block_count", "num_hidden_layers"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.sliding_window", "sliding_window"},
    {"attention.shared_kv_layers", "num_kv_shared_layers"},
    {"feed_forward_length", "intermediate_size"},
    {"expert_count", "num_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_shared_count", "n_shared_experts"},
    {"leading_dense_block_count", "first_k_dense_replace"},
    {"interleave_moe_layer_step", "interleave_moe_layer_step"},
    {"attention.q_lora_rank", "q_lora_rank"},
    {"attention.kv_lora_rank", "kv_lora_rank"},
    {"attention.indexer.head_count", "index_n_heads"},
    {"attention.indexer.key_length", "index_head_dim"},
    {"attention.indexer.top_k", "index_topk"},
    {"attention.output_group_count", "o_groups"},
    {"attention.output_lora_rank", "o_lora_rank"},
    {"hyper_connection.count", "hc_mult"},
    {"hash_layer_count", "num_hash_layers"},
    {"nextn_predict_layers", "num_nextn_predict_layers"},
    {"full_attention_interval", "full_attention_interval"},
    {"shortconv.l_cache", "conv_L_cache"},
};

static const struct {
    const char *model_type, *key, *name;
} own_numbers[] = {
    {"mamba", "ssm.conv_kernel", "conv_kernel"},
    {"mamba", "ssm.inner_size", "intermediate_size"},
    {"mamba", "ssm.state_size", "state_size"},
    {"mamba", "ssm.time_step_rank", "time_step_rank"},
    {"mamba2", "ssm.conv_kernel", "conv_kernel"},
    {"mamba2", "ssm.state_size", "state_size"},
    {"mamba2", "ssm.time_step_rank", "num_heads"},
    {"mamba2", "ssm.group_count", "n_groups"},
    {"jamba", "ssm.conv_kernel", "mamba_d_conv"},
    {"jamba", "ssm.state_size", "mamba_d_state"},
    {"jamba", "ssm.time_step_rank", "mamba_dt_rank"},
    {"falcon_h1", "ssm.conv_kernel", "mamba_d_conv"},
    {"falcon_h1", "ssm.state_size", "mamba_d_state"},
    {"falcon_h1", "ssm.inner_size", "mamba_d_ssm"},
    {"falcon_h1", "ssm.time_step_rank", "mamba_n_heads"},
    {"falcon_h1", "ssm.group_count", "mamba_n_groups"},
    {"granitemoehybrid", "ssm.conv_kernel", "mamba_d_conv"},
    {"granitemoehybrid", "ssm.state_size", "mamba_d_state"},
    {"granitemoehybrid", "ssm.time_step_rank", "mamba_n_heads"},
    {"granitemoehybrid", "ssm.group_count", "mamba_n_groups"},
    {"granitemoehybrid", "expert_shared_feed_forward_length", "shared_intermediate_size"},
    {"nemotron_h", "ssm.conv_kernel", "conv_kernel"},
    {"nemotron_h", "ssm.state_size", "ssm_state_size"},
    {"nemotron_h", "ssm.time_step_rank", "mamba_num_heads"},
    {"nemotron_h", "ssm.group_count", "n_groups"},
    {"gemma4_text", "attention.key_length_swa", "head_dim"},
    {"gemma4_text", "attention.key_length", "global_head_dim"},
    {"gemma4_text", "embedding_length_per_layer_input", "hidden_size_per_layer_input"},
    {"qwen3_next", "ssm.conv_kernel", "linear_conv_kernel_dim"},
    {"qwen3_next", "ssm.state_size", "linear_key_head_dim"},
    {"qwen3_next", "ssm.time_step_rank", "linear_num_value_heads"},
    {"qwen3_next", "ssm.group_count", "linear_num_key_heads"},
};

typedef struct {
    const gp_gguf *gguf;
    const char *architecture, *model_type;
    cJSON *config;
    gp_import_file *file;
} maker;

/* Entry of a key behind the architecture's name. */
static const gp_gguf_entry *entry_of(const maker *from, const char *key) {
    char full[GP_ARCHITECTURE_BYTES + 64];
    snprintf(full, sizeof full, "%s.%s", from->architecture, key);
    return gp_gguf_find(from->gguf, full);
}

static void wrong_type(const maker *from, const char *key) {
    gp_argue_text(gp_gguf_fault(from->file, GP_CODE_WRONG_TYPE, from->architecture, key), "expected", "integer");
}

static void out_of_range(const maker *from, const char *key, double value, double minimum) {
    gp_diagnostic *row = gp_gguf_fault(from->file, GP_CODE_OUT_OF_RANGE, from->architecture, key);
    gp_argue_number(row, "value", value);
    gp_argue_number(row, "min", minimum);
    gp_argue_number(row, "max", (double)GP_DIMENSION_MAX);
}

/* Keys that no file has with 0, whatever its architecture. */
static double least_of(const char *key) {
    static const char *const positive[] = {"block_count", "embedding_length", "context_length"};
    for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++)
        if (strcmp(positive[i], key) == 0) return 1;
    return 0;
}

/* A list has a number for each block, as llama.cpp demands (github.com/ggml-org/llama.cpp src/llama-model-loader.cpp,
 * get_key_or_arr). False after an error row: no list longer than the most blocks is read. */
static bool check_length(const maker *from, const char *key, const gp_gguf_entry *entry) {
    uint64_t blocks = gp_gguf_whole(entry_of(from, "block_count"), 0, 0);
    const uint64_t most = (uint64_t)GP_LAYERS_MAX;
    if (!entry->is_array || (entry->count <= most && (blocks == 0 || entry->count == blocks))) return true;
    if (blocks == 0 || blocks > most) blocks = most;
    gp_diagnostic *row = gp_gguf_fault(from->file, GP_CODE_LIST_LENGTH, from->architecture, key);
    gp_argue_number(row, "value", (double)entry->count);
    gp_argue_number(row, "expected", (double)blocks);
    return false;
}

/* Error row for a value that is no dimension; the first of a list counts. */
static void check_number(const maker *from, const char *key, const gp_gguf_entry *entry) {
    /* The length of the other lists is no list. */
    bool list_of_lengths = entry->is_array && strcmp(key, "block_count") == 0;
    if (!gp_gguf_is_whole(entry) || list_of_lengths) {
        wrong_type(from, key);
        return;
    }
    if (!check_length(from, key, entry)) return;
    const double least = least_of(key);
    for (uint64_t i = 0; i < entry->count; i++) {
        double value = gp_gguf_signed(entry, i);
        if (value >= least && value <= (double)GP_DIMENSION_MAX) continue;
        out_of_range(from, key, value, least);
        return;
    }
}

static uint64_t number_of(const maker *from, const char *key, uint64_t fallback) {
    const gp_gguf_entry *entry = entry_of(from, key);
    if (entry != NULL) check_number(from, key, entry);
    return gp_gguf_whole(entry, 0, fallback);
}

static void put(maker *to, const char *name, uint64_t value) {
    cJSON_DeleteItemFromObjectCaseSensitive(to->config, name);
    cJSON_AddNumberToObject(to->config, name, (double)value);
}

static void put_switch(maker *to, const char *name, bool value) {
    cJSON_AddBoolToObject(to->config, name, value);
}

static bool is_model(const maker *from, const char *model_type) {
    return strcmp(from->model_type, model_type) == 0;
}

static bool has(const maker *from, const char *tensor) {
    return gp_gguf_tensor_find(from->gguf, tensor) != NULL;
}

/* A number, or the one that all layers of a list have. Layers that differ are told as a list, the largest standing for
 * the model: layers without attention have 0 heads. */
static void put_number(maker *to, const char *key, const char *name) {
    enum { LISTED_MAX = 256 };
    const gp_gguf_entry *entry = entry_of(to, key);
    if (entry == NULL) return;
    check_number(to, key, entry);
    uint64_t largest = 0;
    bool alike = true;
    for (uint64_t i = 0; i < entry->count && i < LISTED_MAX; i++) {
        uint64_t value = gp_gguf_whole(entry, i, 0);
        alike = alike && value == gp_gguf_whole(entry, 0, 0);
        if (value > largest) largest = value;
    }
    if (largest > 0) put(to, name, largest);
    if (alike) return;
    char list_name[64];
    snprintf(list_name, sizeof list_name, "%s_per_layer", name);
    cJSON *list = cJSON_AddArrayToObject(to->config, list_name);
    for (uint64_t i = 0; i < entry->count && i < LISTED_MAX; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)gp_gguf_whole(entry, i, 0)));
}

/* Tokens behind an entry of each layer; files may list those of prediction modules as well. */
static void put_ratios(maker *to) {
    const gp_gguf_entry *entry = entry_of(to, "attention.compress_ratios");
    if (entry == NULL || !is_model(to, "deepseek_v4")) return;
    cJSON *list = cJSON_AddArrayToObject(to->config, "compress_ratios");
    for (uint64_t i = 0; i < entry->count && i < GP_GGUF_BLOCKS_MAX && list != NULL; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)gp_gguf_whole(entry, i, GP_GGUF_BLOCKS_MAX)));
    put(to, "qk_rope_head_dim", number_of(to, "rope.dimension_count", 64));
}

/* Prediction modules are blocks of the file behind the layers. DeepSeek-V4's metadata may count one that is not there. */
static void put_layers(maker *to) {
    uint64_t blocks = number_of(to, "block_count", 0), modules = number_of(to, "nextn_predict_layers", 0);
    if (is_model(to, "deepseek_v4") && modules > 0 && modules < blocks) {
        char name[48];
        snprintf(name, sizeof name, "blk.%u.nextn.eh_proj.weight", (unsigned)(blocks - modules));
        if (!has(to, name)) modules = 0;
        put(to, "num_nextn_predict_layers", modules);
    }
    if (modules > 0 && modules < blocks) put(to, "num_hidden_layers", blocks - modules);
}

/* Attention without KV heads is none; a layer without attention has neither, or stands in a list. */
static void check_kv_heads(const maker *from) {
    const char *key = "attention.head_count_kv";
    const gp_gguf_entry *entry = entry_of(from, key);
    bool none = entry != NULL && !entry->is_array && gp_gguf_whole(entry, 0, 1) == 0;
    if (none && number_of(from, "attention.head_count", 0) > 0) out_of_range(from, key, 0, 1);
}

/* A block has a width, wherever one is stored. */
static void check_width(const maker *from) {
    const char *key = "feed_forward_length";
    const gp_gguf_entry *entry = entry_of(from, key);
    bool none = entry != NULL && !entry->is_array && gp_gguf_whole(entry, 0, 1) == 0;
    if (none && has(from, "blk.0.ffn_up.weight")) out_of_range(from, key, 0, 1);
}

/* The token table's rows, which also hold what the tokenizer leaves unused. */
static uint64_t vocabulary(const maker *from) {
    const gp_gguf_tensor *table = gp_gguf_tensor_find(from->gguf, "token_embd.weight");
    if (table != NULL) return table->dimensions[1];
    uint64_t stated = number_of(from, "vocab_size", 0);
    const gp_gguf_entry *tokens = gp_gguf_find(from->gguf, "tokenizer.ggml.tokens");
    return stated > 0 || tokens == NULL ? stated : tokens->count;
}

/* The head size, unless it is the hidden size divided by the heads, as is assumed without it; and as many KV heads as
 * heads, where a file does not count them. */
static void put_head_size(maker *to) {
    uint64_t size = number_of(to, "attention.key_length", 0);
    uint64_t heads = number_of(to, "attention.head_count", 0), hidden = number_of(to, "embedding_length", 0);
    if (size == 0 && heads > 0 && entry_of(to, "attention.kv_lora_rank") == NULL) size = hidden / heads;
    if (size > 0 && entry_of(to, "attention.kv_lora_rank") == NULL) put(to, "head_dim", size);
    bool counted = entry_of(to, "attention.head_count_kv") != NULL || is_model(to, "falcon");
    if (heads > 0 && !counted) put(to, "num_key_value_heads", heads);
}

/* Latent attention: key_length is that of the compressed cache, …_mla those of the heads. Older files have the latter
 * in key_length. */
static void put_latent(maker *to) {
    uint64_t rope = number_of(to, "rope.dimension_count", 0);
    uint64_t key = number_of(to, "attention.key_length_mla", number_of(to, "attention.key_length", 0));
    uint64_t value = number_of(to, "attention.value_length_mla", number_of(to, "attention.value_length", 0));
    uint64_t heads = number_of(to, "attention.head_count", 0);
    if (number_of(to, "attention.kv_lora_rank", 0) == 0) return;
    if (rope > 0 && key > rope) {
        put(to, "qk_rope_head_dim", rope);
        put(to, "qk_nope_head_dim", key - rope);
    }
    if (value > 0) put(to, "v_head_dim", value);
    if (heads > 0) put(to, "num_key_value_heads", heads);
    if (entry_of(to, "attention.q_lora_rank") == NULL) put(to, "q_lora_rank", 0);
}

static void put_biases(maker *to, unsigned reads) {
    bool qkv = has(to, "blk.0.attn_q.bias") || has(to, "blk.0.attn_qkv.bias");
    bool ffn = has(to, "blk.0.ffn_up.bias") || has(to, "blk.0.ffn_down.bias");
    bool qk_norm = has(to, "blk.0.attn_q_norm.weight");
    if ((reads & ATTENTION_BIAS) != 0 && qkv) put_switch(to, "attention_bias", true);
    if ((reads & MLP_BIAS) != 0 && ffn) put_switch(to, "mlp_bias", true);
    if ((reads & USE_BIAS) != 0) put_switch(to, "use_bias", qkv);
    if ((reads & QKV_BIAS) != 0) put_switch(to, is_model(to, "chatglm") ? "add_qkv_bias" : "use_qkv_bias", qkv);
    if ((reads & QK_LAYERNORM) != 0) {
        put_switch(to, "qk_layernorm", qk_norm);
        put_switch(to, "use_parallel_residual", !has(to, "blk.0.ffn_norm.weight"));
    }
    if ((reads & QK_NORM) != 0) put_switch(to, "use_qk_norm", qk_norm);
    if ((reads & NO_BIAS) != 0) put_switch(to, "no_bias", !ffn);
    if ((reads & FALCON) != 0) {
        put_switch(to, "new_decoder_architecture", has(to, "blk.0.attn_norm_2.weight"));
        put_switch(to, "bias", qkv);
        put(to, "num_kv_heads", number_of(to, "attention.head_count_kv", 1));
    }
}

/* Experts without a width of their own have that of the feed-forward block. Layers and experts that a file does not count
 * are none, whatever the class of a config counts. */
static void put_experts(maker *to) {
    if (number_of(to, "expert_count", 0) == 0) return;
    uint64_t shared = number_of(to, "expert_shared_count", 0);
    bool own_width = entry_of(to, "expert_feed_forward_length") != NULL;
    if (is_model(to, "mixtral") || is_model(to, "phimoe")) put(to, "num_local_experts", number_of(to, "expert_count", 0));
    uint64_t width = number_of(to, "feed_forward_length", 0);
    if (shared == 0) put(to, "n_shared_experts", 0);
    if (entry_of(to, "leading_dense_block_count") == NULL) put(to, "first_k_dense_replace", 0);
    if (!own_width && width > 0) put(to, "moe_intermediate_size", width);
    if (has(to, "blk.0.exp_probs_b.bias") || number_of(to, "expert_gating_func", 1) == 2) {
        if (is_model(to, "deepseek_v2")) {
            cJSON_ReplaceItemInObjectCaseSensitive(to->config, "model_type", cJSON_CreateString("deepseek_v3"));
        }
    }
}

/* Which layers attend to a window: a list with a mark for each, or the length of a period that ends with a full one. */
static void put_pattern(maker *to) {
    const gp_gguf_entry *pattern = entry_of(to, "attention.sliding_window_pattern");
    bool stated = entry_of(to, "attention.sliding_window") != NULL;
    bool none = number_of(to, "attention.sliding_window", 0) == 0;
    /* Of Gemma 3 llama.cpp takes a file without the key to have no window (src/models/gemma3.cpp). */
    if (none && (stated || is_model(to, "gemma3_text"))) cJSON_AddNullToObject(to->config, "sliding_window");
    if (pattern == NULL || none) return;
    if (!pattern->is_array) {
        put(to, "sliding_window_pattern", gp_gguf_whole(pattern, 0, 1));
        return;
    }
    cJSON *types = cJSON_AddArrayToObject(to->config, "layer_types");
    for (uint64_t i = 0; i < pattern->count && i < number_of(to, "block_count", 0); i++) {
        const char *type = gp_gguf_whole(pattern, i, 0) != 0 ? "sliding_attention" : "full_attention";
        cJSON_AddItemToArray(types, cJSON_CreateString(type));
    }
}

static void put_recurrence(maker *to) {
    uint64_t inner = number_of(to, "ssm.inner_size", 0), heads = number_of(to, "ssm.time_step_rank", 0);
    bool next = strncmp(to->model_type, "qwen3_5", 7) == 0 || is_model(to, "qwen3_next");
    const char *own = next ? "qwen3_next" : to->model_type;
    for (size_t i = 0; i < sizeof own_numbers / sizeof own_numbers[0]; i++) {
        if (strcmp(own_numbers[i].model_type, own) == 0) put_number(to, own_numbers[i].key, own_numbers[i].name);
    }
    if (inner == 0 || heads == 0) return;
    if (next) put(to, "linear_value_head_dim", inner / heads);
    if (is_model(to, "mamba2")) put(to, "head_dim", inner / heads);
    if (is_model(to, "nemotron_h")) put(to, "mamba_head_dim", inner / heads);
    if (is_model(to, "falcon_h1") || is_model(to, "granitemoehybrid")) put(to, "mamba_d_head", inner / heads);
}

/* Layers without KV heads are the recurrent ones of a hybrid. */
static void put_hybrid(maker *to) {
    enum { LISTED_MAX = 256 };
    const gp_gguf_entry *heads = entry_of(to, "attention.head_count_kv");
    bool granite = is_model(to, "granitemoehybrid"), lfm2 = strncmp(to->model_type, "lfm2", 4) == 0;
    if (lfm2) put_switch(to, "block_auto_adjust_ff_dim", false);
    if (heads == NULL || heads->count < 2) return;
    uint64_t listed = heads->count;
    if (listed > LISTED_MAX) listed = LISTED_MAX;
    uint64_t first = listed, second = listed;
    cJSON *types = granite || lfm2 ? cJSON_AddArrayToObject(to->config, "layer_types") : NULL;
    for (uint64_t i = listed; i-- > 0;) {
        if (gp_gguf_whole(heads, i, 0) == 0) continue;
        second = first;
        first = i;
    }
    for (uint64_t i = 0; i < listed && types != NULL; i++) {
        const char *kind = gp_gguf_whole(heads, i, 0) == 0 ? granite ? "mamba" : "conv"
                                                           : granite ? "attention" : "full_attention";
        cJSON_AddItemToArray(types, cJSON_CreateString(kind));
    }
    if (!is_model(to, "jamba") || first == listed) return;
    put(to, "attn_layer_offset", first);
    put(to, "attn_layer_period", second < listed ? second - first : listed);
}

/* Gemma 4 stores no values where the keys serve as such. */
static void put_gemma4(maker *to) {
    if (!is_model(to, "gemma4_text")) return;
    const uint64_t blocks = number_of(to, "block_count", 0);
    bool alike = false;
    for (uint64_t i = 0; i < blocks && i < 256 && !alike; i++) {
        char key[32], value[32];
        snprintf(key, sizeof key, "blk.%u.attn_k.weight", (unsigned)i);
        snprintf(value, sizeof value, "blk.%u.attn_v.weight", (unsigned)i);
        alike = has(to, key) && !has(to, value);
    }
    put_switch(to, "attention_k_eq_v", alike);
    put_switch(to, "enable_moe_block", number_of(to, "expert_count", 0) > 0);
    if (number_of(to, "embedding_length_per_layer_input", 0) == 0) put(to, "hidden_size_per_layer_input", 0);
}

/* False for an architecture that is not in the table, or whose family no config has. */
static bool find_family(maker *to, unsigned *reads) {
    to->model_type = to->architecture;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (strcmp(families[i].architecture, to->architecture) != 0) continue;
        bool experts = number_of(to, "expert_count", 0) > 0;
        to->model_type = experts && strcmp(families[i].model_type, "llama") == 0 ? "mixtral" : families[i].model_type;
        *reads = families[i].reads;
        return gp_config_knows(to->model_type);
    }
    return false;
}

/* A name that no family has, though one of transformers may be called like the architecture. */
static void disown(maker *to) {
    char name[GP_ARCHITECTURE_BYTES + 8];
    snprintf(name, sizeof name, "%s (GGUF)", to->architecture);
    cJSON_ReplaceItemInObjectCaseSensitive(to->config, "model_type", cJSON_CreateString(name));
}

gp_diagnostic *gp_gguf_fault(gp_import_file *file, gp_code code, const char *architecture, const char *key) {
    char full[GP_ARCHITECTURE_BYTES + 64], name[GP_PATH_BYTES], path[GP_PATH_BYTES];
    int length = snprintf(full, sizeof full, ": %s.%s", architecture, key);
    size_t room = length + 4 < GP_PATH_BYTES ? GP_PATH_BYTES - (size_t)length : 4;
    gp_text_copy(name, room, file->name, strlen(file->name));
    gp_text_join(path, sizeof path, name, full);
    file->faulty = true;
    return gp_diagnose_once(file->faults, code, path);
}

const char *gp_gguf_key_of(const char *model_type, const char *name) {
    const char *own = strncmp(model_type, "qwen3_5", 7) == 0 ? "qwen3_next" : model_type;
    for (size_t i = 0; i < sizeof own_numbers / sizeof own_numbers[0]; i++) {
        bool same = strcmp(own_numbers[i].model_type, own) == 0 && strcmp(own_numbers[i].name, name) == 0;
        if (same) return own_numbers[i].key;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(numbers[i].name, name) == 0) return numbers[i].key;
    return NULL;
}

cJSON *gp_gguf_config(const gp_gguf *gguf, const char *architecture, gp_import_file *file) {
    maker to = {gguf, architecture, "", cJSON_CreateObject(), file};
    if (to.config == NULL) return NULL;
    unsigned reads = 0;
    bool known = find_family(&to, &reads);
    cJSON_AddStringToObject(to.config, "model_type", to.model_type);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) put_number(&to, numbers[i].key, numbers[i].name);
    check_kv_heads(&to);
    check_width(&to);
    put_layers(&to);
    put_ratios(&to);
    put(&to, "vocab_size", vocabulary(&to));
    put_head_size(&to);
    put_latent(&to);
    put_experts(&to);
    put_pattern(&to);
    put_recurrence(&to);
    put_hybrid(&to);
    put_gemma4(&to);
    put_biases(&to, reads);
    put_switch(&to, "tie_word_embeddings", !has(&to, "output.weight"));
    if (!known && !gp_gguf_structure(gguf, architecture, to.config)) disown(&to);
    return to.config;
}
