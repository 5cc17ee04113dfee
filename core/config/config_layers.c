#include "config/config_layers.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cJSON.h"

void gp_plan_start(const gp_shape *shape, const gp_layer_kind *kind, gp_layer_plan *plan) {
    plan->count = shape->layers < GP_MAPPED_LAYERS ? shape->layers : GP_MAPPED_LAYERS;
    plan->mtp_count = 0;
    plan->has_own_module = false;
    for (int64_t i = 0; i < plan->count; i++) plan->of[i] = *kind;
}

static bool same_kind(const gp_layer_kind *a, const gp_layer_kind *b) {
    return a->attention == b->attention && a->recurrence == b->recurrence && a->feed_forward == b->feed_forward &&
           a->shares_kv == b->shares_kv && a->keys_are_values == b->keys_are_values &&
           a->without_index == b->without_index && a->crosses == b->crosses && a->hashed == b->hashed &&
           a->borrowed == b->borrowed && a->compress == b->compress &&
           a->keeps_projections == b->keeps_projections && a->heads == b->heads &&
           a->kv_heads == b->kv_heads && a->head_dim == b->head_dim && a->value_dim == b->value_dim && a->ffn == b->ffn &&
           a->extra_params == b->extra_params;
}

static int kind_of(const gp_shape *shape, const gp_layer_kind *wanted) {
    int kind = 0;
    while (kind < shape->kind_count && !same_kind(&shape->kinds[kind], wanted)) kind++;
    return kind;
}

/* Adds the kind, unless layers are of it already. */
static void add_own_module(gp_config_reader *reader, const gp_layer_kind *own, gp_shape *shape) {
    int kind = kind_of(shape, own);
    if (kind == GP_KINDS_MAX) {
        gp_config_unsupported(reader, "layer_types", "more than 36 kinds of layers");
        return;
    }
    if (kind == shape->kind_count) shape->kinds[shape->kind_count++] = *own;
    shape->mtp_kind_count = 1;
    shape->mtp_kinds[0] = (uint8_t)kind;
}

void gp_plan_settle(gp_config_reader *reader, const gp_layer_plan *plan, gp_shape *shape) {
    shape->kind_count = 0;
    for (int64_t i = 0; i < plan->count; i++) {
        int kind = kind_of(shape, &plan->of[i]);
        if (kind == GP_KINDS_MAX) {
            gp_config_unsupported(reader, "layer_types", "more than 36 kinds of layers");
            return;
        }
        if (kind == shape->kind_count) shape->kinds[shape->kind_count++] = plan->of[i];
        shape->kind_of[i] = (uint8_t)kind;
    }
    shape->mtp_kind_count = plan->mtp_count;
    for (int i = 0; i < plan->mtp_count; i++) {
        shape->mtp_kinds[i] = (uint8_t)gp_shape_kind(shape, plan->mtp_like[i]);
    }
    if (plan->has_own_module) add_own_module(reader, &plan->own_module, shape);
    if (shape->kind_count < 2 || shape->layers <= GP_MAPPED_LAYERS) return;
    gp_diagnostic *row = gp_config_fault(reader, GP_CODE_OUT_OF_RANGE, "num_hidden_layers");
    gp_argue_number(row, "value", (double)shape->layers);
    gp_argue_number(row, "min", 1);
    gp_argue_number(row, "max", GP_MAPPED_LAYERS);
}

static const struct {
    const char *name;
    gp_attention attention;
} attention_names[] = {
    {"full_attention", GP_ATTENTION_FULL},       {"attention", GP_ATTENTION_FULL},
    {"sliding_attention", GP_ATTENTION_SLIDING}, {"chunked_attention", GP_ATTENTION_CHUNKED},
};

bool gp_plan_layer_types(gp_config_reader *reader, const gp_shape *shape, gp_layer_plan *plan) {
    const cJSON *types = gp_config_list(reader, "layer_types"), *type = NULL;
    if (types == NULL) return false;
    int64_t layer = 0;
    cJSON_ArrayForEach(type, types) {
        const char *name = cJSON_IsString(type) ? type->valuestring : "";
        size_t i = 0, known = sizeof attention_names / sizeof attention_names[0];
        while (i < known && strcmp(attention_names[i].name, name) != 0) i++;
        if (i == known) {
            gp_config_unsupported(reader, "layer_types", name);
            return true;
        }
        if (layer < plan->count) plan->of[layer].attention = attention_names[i].attention;
        layer++;
    }
    if (layer == shape->layers) return true;
    gp_config_inconsistent(reader, "layer_types", (double)layer);
    return true;
}

static void take_per_layer(gp_config_reader *reader, const char *key, size_t offset, gp_layer_plan *plan) {
    /* Heads times their size stay far below 2^63. */
    bool heads = offset == offsetof(gp_layer_kind, heads) || offset == offsetof(gp_layer_kind, kv_heads);
    const double most = heads ? 1 << 20 : (double)GP_DIMENSION_MAX;
    const cJSON *list = gp_config_list(reader, key);
    const cJSON *item = list == NULL ? NULL : list->child;
    if (list != NULL && cJSON_GetArraySize(list) < plan->count) {
        gp_config_inconsistent(reader, key, cJSON_GetArraySize(list));
        return;
    }
    for (int64_t i = 0; i < plan->count && list != NULL; i++, item = item->next) {
        gp_layer_kind *kind = &plan->of[i];
        double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (!(value >= 0 && value <= most) || floor(value) != value) {
            gp_config_inconsistent(reader, key, value);
            return;
        }
        *(int64_t *)(void *)((char *)kind + offset) = (int64_t)value;
        if (value > 0 || offset == offsetof(gp_layer_kind, extra_params)) continue;
        if (offset != offsetof(gp_layer_kind, ffn)) kind->attention = GP_ATTENTION_NONE;
        else if (kind->feed_forward == GP_FFN_DENSE) kind->feed_forward = GP_FFN_NONE;
    }
}

void gp_plan_per_layer(gp_config_reader *reader, gp_layer_plan *plan) {
    static const struct {
        const char *key;
        size_t offset;
    } lists[] = {
        {"num_attention_heads_per_layer", offsetof(gp_layer_kind, heads)},
        {"num_key_value_heads_per_layer", offsetof(gp_layer_kind, kv_heads)},
        {"intermediate_size_per_layer", offsetof(gp_layer_kind, ffn)},
        {"extra_params_per_layer", offsetof(gp_layer_kind, extra_params)},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        take_per_layer(reader, lists[i].key, lists[i].offset, plan);
    }
    for (int64_t i = 0; i < plan->count; i++) {
        const gp_layer_kind *kind = &plan->of[i];
        if (kind->heads == 0 || kind->kv_heads == 0 || kind->heads % kind->kv_heads == 0) continue;
        gp_config_inconsistent(reader, "num_key_value_heads_per_layer", (double)kind->kv_heads);
        return;
    }
}

void gp_plan_windows(int64_t period, gp_attention other, gp_layer_plan *plan) {
    for (int64_t i = 0; i < plan->count; i++) {
        plan->of[i].attention = period > 0 && (i + 1) % period == 0 ? GP_ATTENTION_FULL : other;
    }
}

bool gp_plan_listed(gp_config_reader *reader, const char *key, int64_t base, bool *listed, int64_t count) {
    const cJSON *list = gp_config_list(reader, key), *item = NULL;
    memset(listed, 0, (size_t)count * sizeof *listed);
    if (list == NULL) return false;
    cJSON_ArrayForEach(item, list) {
        double value = item->valuedouble, index = value - (double)base;
        if (!cJSON_IsNumber(item) || floor(value) != value) {
            gp_config_wrong_type(reader, key, "list");
            return true;
        }
        if (!(index >= 0 && index < (double)count)) {
            gp_config_out_of_range(reader, key, value, (double)base, (double)(base + count - 1));
            return true;
        }
        listed[(int64_t)index] = true;
    }
    return true;
}

bool gp_plan_words(gp_config_reader *reader, const char *key, const char *const *words, const gp_layer_plan *plan,
                   uint8_t found[GP_MAPPED_LAYERS]) {
    const cJSON *list = gp_config_list(reader, key), *item = NULL;
    int64_t layer = 0;
    if (list == NULL) return false;
    cJSON_ArrayForEach(item, list) {
        const char *name = cJSON_IsString(item) ? item->valuestring : "";
        uint8_t word = 0;
        while (words[word] != NULL && strcmp(words[word], name) != 0) word++;
        if (words[word] == NULL) {
            gp_config_unsupported(reader, key, name);
            return false;
        }
        if (layer < plan->count) found[layer] = word;
        layer++;
    }
    if (layer >= plan->count) return true;
    gp_config_inconsistent(reader, key, (double)layer);
    return false;
}

#define EXPERTS "num_local_experts|num_experts|n_routed_experts|moe_num_experts"
#define CHOSEN "num_experts_per_tok|num_experts_per_token|moe_topk|moe_k|top_k_experts|moe_top_k|experts_per_token"
#define DENSE_FIRST "first_k_dense_replace|moe_layer_start_index|num_dense_layers"
#define SHARED "n_shared_experts|num_shared_experts|moe_num_shared_experts|num_shared_expert"
enum { SHARED_MOST = 4096 };
#define SHARED_FFN "shared_expert_intermediate_size|moe_shared_expert_intermediate_size|shared_intermediate_size"

/* Every layer's experts may be listed one by one (Hunyuan), all alike. */
static int64_t expert_number(gp_config_reader *reader, const char *key, int64_t minimum, int64_t fallback,
                             const gp_layer_plan *plan) {
    const cJSON *item = gp_config_item(reader, key);
    int64_t values[GP_MAPPED_LAYERS];
    if (!cJSON_IsArray(item)) return gp_config_whole(reader, key, minimum, fallback);
    if (!gp_config_numbers(reader, key, minimum, GP_DIMENSION_MAX, plan->count, values)) return fallback;
    for (int64_t i = 1; i < plan->count; i++) {
        if (values[i] == values[0]) continue;
        gp_config_unsupported(reader, key, "layers with unlike experts");
        break;
    }
    return values[0];
}

/* Dense layers first, then experts in every `step`-th layer; the layers of mlp_only_layers stay dense. */
static void place_experts(gp_config_reader *reader, const gp_shape *shape, gp_layer_plan *plan) {
    static const char *const kinds[] = {"dense", "sparse", "moe", "hash_moe", NULL};
    bool dense[GP_MAPPED_LAYERS];
    uint8_t kind[GP_MAPPED_LAYERS];
    int64_t frequency[GP_MAPPED_LAYERS];
    int64_t step = 1, sparse = gp_config_whole(reader, "decoder_sparse_step", 1, 0);
    bool each = cJSON_IsArray(gp_config_item(reader, "moe_layer_freq"));
    if (each) each = gp_config_numbers(reader, "moe_layer_freq", 0, 1, plan->count, frequency);
    else step = gp_config_whole(reader, "moe_layer_freq", 1, 1);
    gp_plan_listed(reader, "mlp_only_layers", 0, dense, plan->count);
    bool named = gp_plan_words(reader, "mlp_layer_types", kinds, plan, kind);
    int64_t usual = named || each ? 0 : gp_config_default(reader, shape->model_type, DENSE_FIRST, 0);
    int64_t first = gp_config_within(reader, DENSE_FIRST, 0, shape->layers, usual);
    for (int64_t i = 0; i < plan->count; i++) {
        bool moe = i >= first && i % step == 0 && !dense[i] && (sparse == 0 || (i + 1) % sparse == 0);
        if (named) moe = kind[i] != 0;
        if (each) moe = frequency[i] == 1;
        if (moe) plan->of[i].feed_forward = GP_FFN_MOE;
    }
}

/* Experts counted twice are counted alike. */
static void check_count(gp_config_reader *reader, int64_t count) {
    static const char *const names[] = {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cJSON *item = gp_config_item(reader, names[i]);
        if (!cJSON_IsNumber(item) || item->valuedouble == (double)count || !reader->usable) continue;
        gp_config_inconsistent(reader, names[i], item->valuedouble);
    }
}

bool gp_plan_experts(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    gp_experts *experts = &shape->experts;
    experts->topk = expert_number(reader, "moe_topk", 0, 0, plan);
    if (experts->topk == 0) experts->topk = gp_config_whole(reader, CHOSEN, 0, 0);
    /* Chosen experts are counted somewhere. */
    experts->count = gp_config_whole(reader, EXPERTS, 0, experts->topk > 0 ? GP_REQUIRED : 0);
    check_count(reader, experts->count);
    if (experts->count == 0 && experts->topk == 0) return false;
    if (experts->topk == 0) experts->topk = gp_config_whole(reader, CHOSEN, 1, GP_REQUIRED);
    experts->ffn = expert_number(reader, "moe_intermediate_size", 1, gp_expert_width(reader, shape), plan);
    if (experts->ffn == 0) gp_config_whole(reader, "moe_intermediate_size", 1, GP_REQUIRED);
    bool listed = cJSON_IsArray(gp_config_item(reader, "num_shared_expert"));
    int64_t usual = gp_config_default(reader, shape->model_type, SHARED, 0);
    int64_t shared = listed ? expert_number(reader, "num_shared_expert", 0, 0, plan)
                            : gp_config_within(reader, SHARED, 0, SHARED_MOST, usual);
    if (shared > SHARED_MOST) shared = SHARED_MOST;
    int64_t shared_ffn = gp_config_default(reader, shape->model_type, SHARED_FFN, shared * experts->ffn);
    experts->shared_ffn = gp_config_whole(reader, SHARED_FFN, 0, shared_ffn);
    if (experts->topk > experts->count) {
        gp_config_inconsistent(reader, "num_experts_per_tok", (double)experts->topk);
    }
    place_experts(reader, shape, plan);
    if (shape->ffn == 0) shape->ffn = experts->ffn;
    return true;
}

void gp_plan_latent(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    static const char *const indexers[] = {"full", "shared", NULL};
    gp_latent *latent = &shape->latent;
    const char *family = shape->model_type;
    latent->q_lora = gp_config_whole(reader, "q_lora_rank", 0, gp_config_default(reader, family, "q_lora_rank", 0));
    latent->kv_lora = gp_config_whole(reader, "kv_lora_rank", 1, GP_REQUIRED);
    latent->nope = gp_config_whole(reader, "qk_nope_head_dim", 1, gp_config_default(reader, family, "qk_nope_head_dim", 128));
    latent->rope = gp_config_whole(reader, "qk_rope_head_dim", 0, 64);
    latent->value = gp_config_whole(reader, "v_head_dim", 1, gp_config_default(reader, family, "v_head_dim", 128));
    bool sparse = strcmp(family, "deepseek_v32") == 0 || strcmp(family, "glm_moe_dsa") == 0;
    latent->index_heads = gp_config_whole(reader, "index_n_heads", 1, sparse ? GP_REQUIRED : 0);
    latent->index_dim = gp_config_whole(reader, "index_head_dim", 1, 128);
    latent->index_topk = gp_config_whole(reader, "index_topk", 1, sparse ? GP_REQUIRED : 0);
    shape->head_dim = latent->nope + latent->rope;
    shape->kv_heads = shape->heads;
    uint8_t indexer[GP_MAPPED_LAYERS];
    bool named = gp_plan_words(reader, "indexer_types", indexers, plan, indexer);
    for (int64_t i = 0; i < plan->count; i++) {
        plan->of[i].attention = GP_ATTENTION_LATENT;
        plan->of[i].without_index = named && indexer[i] == 1;
    }
}

void gp_plan_mtp(gp_config_reader *reader, const char *keys, int64_t layer, int norms, gp_shape *shape,
                 gp_layer_plan *plan) {
    shape->mtp_layers = gp_config_within(reader, keys, 0, shape->layers, 0);
    shape->mtp_norms = norms;
    plan->mtp_count = 1;
    plan->mtp_like[0] = layer;
}
