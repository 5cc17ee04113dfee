#include "files/gguf_structure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "base/quantity.h"
#include "base/text.h"

/* Layers that a shape can tell apart. */
enum { BLOCKS_MAX = 256 };

/* What the tensors of a block say. */
typedef struct {
    uint64_t params;
    bool gated, experts;
} block;

typedef struct {
    uint64_t count, around; /* blocks; parameters outside blocks and towers */
    bool recurrent;
    uint64_t expert_ffn, shared_ffn;
    block blocks[BLOCKS_MAX];
} census;

/* What stands behind "blk.N" begins with `word`. */
static bool is_in(const gp_gguf_tensor *tensor, const char *word) {
    uint32_t at = sizeof "blk." - 1;
    while (at < tensor->name_length && tensor->name[at] != '.') at++;
    return gp_starts_folded(tensor->name + at, tensor->name_length - at, word, strlen(word));
}

static bool starts(const gp_gguf_tensor *tensor, const char *word) {
    return gp_starts_folded(tensor->name, tensor->name_length, word, strlen(word));
}

static void take_tensor(const gp_gguf_tensor *tensor, census *to) {
    static const char *const states[] = {".ssm_", ".time_mix_", ".shortconv.", ".channel_mix_"};
    uint64_t index = gp_gguf_block_of(tensor);
    if (index >= BLOCKS_MAX) {
        bool tower = starts(tensor, "v.") || starts(tensor, "a.") || starts(tensor, "mm.");
        if (!tower) to->around = gp_add(to->around, tensor->params);
        return;
    }
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) to->recurrent = to->recurrent || is_in(tensor, states[i]);
    block *at = &to->blocks[index];
    at->params = gp_add(at->params, tensor->params);
    if (is_in(tensor, ".ffn_gate.weight") || is_in(tensor, ".ffn_gate_exps.")) at->gated = true;
    if (is_in(tensor, ".ffn_gate_up_exps.")) at->gated = true;
    if (is_in(tensor, ".ffn_down_exps.")) {
        at->experts = true;
        to->expert_ffn = tensor->dimensions[0];
    }
    if (is_in(tensor, ".ffn_down_shexp.")) to->shared_ffn = tensor->dimensions[0];
}

static uint64_t number_of(const cJSON *config, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, key);
    return cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble < 9e15 ? (uint64_t)item->valuedouble : 0;
}

/* A layer's own number: of its list, where the config has one. */
static uint64_t own_number(const cJSON *config, const char *key, uint64_t layer) {
    char list_key[64];
    snprintf(list_key, sizeof list_key, "%s_per_layer", key);
    const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(config, list_key), (int)layer);
    return cJSON_IsNumber(item) && item->valuedouble >= 0 ? (uint64_t)item->valuedouble : number_of(config, key);
}

/* Parameters that gp_rule_stated will count for a layer, with a config of these dimensions. */
static uint64_t attention_params(const cJSON *config, uint64_t layer) {
    uint64_t hidden = number_of(config, "hidden_size"), head = number_of(config, "head_dim");
    uint64_t heads = own_number(config, "num_attention_heads", layer);
    uint64_t kv_heads = own_number(config, "num_key_value_heads", layer);
    if (heads == 0 || kv_heads == 0) return 0;
    uint64_t queries = gp_mul3(2 * hidden, heads, head);
    return gp_add(queries, gp_mul3(2 * hidden, kv_heads, head));
}

static uint64_t latent_params(const cJSON *config) {
    uint64_t hidden = number_of(config, "hidden_size"), heads = number_of(config, "num_attention_heads");
    uint64_t nope = number_of(config, "qk_nope_head_dim"), rope = number_of(config, "qk_rope_head_dim");
    uint64_t value = number_of(config, "v_head_dim"), rank = number_of(config, "kv_lora_rank");
    uint64_t queries = number_of(config, "q_lora_rank"), query = gp_mul(heads, gp_add(nope, rope));
    uint64_t sum = queries > 0 ? gp_mul(queries, gp_add(gp_add(hidden, query), 1)) : gp_mul(hidden, query);
    sum = gp_add(sum, gp_mul(hidden, gp_add(rank, rope)));
    sum = gp_add(sum, gp_mul3(rank, heads, gp_add(nope, value)));
    return gp_add(gp_add(sum, rank), gp_mul3(heads, value, hidden));
}

static uint64_t feed_forward_params(const cJSON *config, const census *from, uint64_t layer) {
    const block *at = &from->blocks[layer];
    uint64_t hidden = number_of(config, "hidden_size"), sides = from->blocks[from->count - 1].gated ? 3 : 2;
    if (!at->experts) return gp_mul3(sides, hidden, own_number(config, "intermediate_size", layer));
    uint64_t count = number_of(config, "num_experts");
    uint64_t wide = gp_add(gp_mul(count, from->expert_ffn), from->shared_ffn);
    return gp_add(gp_mul(hidden, count), gp_mul3(sides, hidden, wide));
}

static cJSON *put_list(cJSON *config, const char *key) {
    cJSON_DeleteItemFromObjectCaseSensitive(config, key);
    return cJSON_AddArrayToObject(config, key);
}

static void put_number(cJSON *config, const char *key, uint64_t value) {
    cJSON_DeleteItemFromObjectCaseSensitive(config, key);
    cJSON_AddNumberToObject(config, key, (double)value);
}

static void put_layers(cJSON *config, const census *from) {
    bool latent = number_of(config, "kv_lora_rank") > 0, experts = from->expert_ffn > 0;
    cJSON *extras = put_list(config, "extra_params_per_layer");
    cJSON *types = experts ? put_list(config, "mlp_layer_types") : NULL;
    for (uint64_t i = 0; i < from->count; i++) {
        uint64_t known = latent ? latent_params(config) : attention_params(config, i);
        known = gp_add(known, feed_forward_params(config, from, i));
        uint64_t extra = gp_sub_or_zero(from->blocks[i].params, known);
        cJSON_AddItemToArray(extras, cJSON_CreateNumber((double)extra));
        if (types != NULL) cJSON_AddItemToArray(types, cJSON_CreateString(from->blocks[i].experts ? "sparse" : "dense"));
    }
}

/* What the ends hold beside the token table and, in files that have one, the output matrix. */
static uint64_t extra_around(const gp_gguf *gguf, const cJSON *config, const census *from) {
    uint64_t tables = gp_gguf_tensor_find(gguf, "output.weight") != NULL ? 2 : 1;
    uint64_t table = gp_mul(number_of(config, "vocab_size"), number_of(config, "hidden_size"));
    return gp_sub_or_zero(from->around, gp_mul(tables, table));
}

static bool is_plain(const gp_gguf *gguf, const char *architecture, const cJSON *config) {
    char key[128];
    bool latent = number_of(config, "kv_lora_rank") > 0;
    snprintf(key, sizeof key, "%s.attention.key_length", architecture);
    uint64_t keys = gp_gguf_whole(gp_gguf_find(gguf, key), 0, 0);
    snprintf(key, sizeof key, "%s.attention.value_length", architecture);
    uint64_t values = gp_gguf_whole(gp_gguf_find(gguf, key), 0, keys);
    return latent || keys == 0 || keys == values;
}

/* Windows whose layers the program knows by the architecture alone: one layer of so many sees all
 * (github.com/ggml-org/llama.cpp src/llama-model.cpp, set_swa_pattern). */
static const struct {
    const char *architecture;
    int period;
} windows[] = {{"smallthinker", 4}, {"afmoe", 4}, {"exaone-moe", 4}, {"plamo3", 8}, {"gemma-embedding", 6}};

static void put_windows(cJSON *config, const char *architecture) {
    bool listed = cJSON_GetObjectItemCaseSensitive(config, "layer_types") != NULL;
    for (size_t i = 0; i < sizeof windows / sizeof windows[0] && !listed; i++) {
        bool is = strcmp(windows[i].architecture, architecture) == 0 && number_of(config, "sliding_window") > 0;
        if (is) put_number(config, "sliding_window_pattern", (uint64_t)windows[i].period);
    }
}

/* Blocks behind the layers are prediction modules. */
static bool take_census(const gp_gguf *gguf, uint64_t layers, census *to) {
    for (uint64_t i = 0; i < gguf->tensor_count; i++) take_tensor(&gguf->tensors[i], to);
    while (to->count < BLOCKS_MAX && to->blocks[to->count].params > 0) to->count++;
    for (; to->count > layers; to->count--) to->around = gp_add(to->around, to->blocks[to->count - 1].params);
    return to->count == layers && layers > 0 && !to->recurrent;
}

bool gp_gguf_structure(const gp_gguf *gguf, const char *architecture, cJSON *config) {
    census *from = calloc(1, sizeof *from);
    if (from == NULL) return false;
    uint64_t layers = number_of(config, "num_hidden_layers");
    bool usable = is_plain(gguf, architecture, config) && take_census(gguf, layers, from);
    if (usable) {
        char key[128];
        snprintf(key, sizeof key, "%s.attention.causal", architecture);
        bool causal = gp_gguf_whole(gp_gguf_find(gguf, key), 0, 1) != 0;
        cJSON_ReplaceItemInObjectCaseSensitive(config, "model_type", cJSON_CreateString("gguf"));
        cJSON_AddBoolToObject(config, "gated_ffn", from->blocks[from->count - 1].gated);
        if (!causal) cJSON_AddBoolToObject(config, "is_causal", false);
        if (from->expert_ffn > 0) {
            put_number(config, "moe_intermediate_size", from->expert_ffn);
            put_number(config, "shared_expert_intermediate_size", from->shared_ffn);
        }
        put_windows(config, architecture);
        put_layers(config, from);
        put_number(config, "extra_params", extra_around(gguf, config, from));
    }
    free(from);
    return usable;
}
