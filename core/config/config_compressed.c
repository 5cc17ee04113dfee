/* Attention over compressed entries beside a window (DeepSeek-V4). Sources: the configurations published with the weights
 * and configuration_deepseek_v4.py of the transformers library; github.com/ggml-org/llama.cpp src/models/deepseek4.cpp. */
#include <string.h>

#include "cJSON.h"
#include "config/config_family.h"

/* Ratios that have a structure: none, of overlapping blocks with an indexer, and of blocks without one. */
enum { SPARSE = 4, HEAVY = 128 };

/* Ratios by the names that transformers gives the kinds of layers. */
static const char *const layer_names[] = {"sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention",
                                          NULL};
static const int64_t ratios[] = {0, SPARSE, HEAVY};

/* A number for each layer and, in published configurations, one for the prediction module behind them. */
static void take_ratios(gp_config_reader *reader, const gp_shape *shape, const cJSON *list, gp_layer_plan *plan) {
    const cJSON *item = NULL;
    int64_t layer = 0;
    cJSON_ArrayForEach(item, list) {
        double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
        bool known = value == 0 || value == 1 || value == SPARSE || value == HEAVY;
        if (!known) {
            gp_config_unsupported(reader, "compress_ratios", "deepseek_v4");
            return;
        }
        if (layer < plan->count) plan->of[layer].compress = value > 1 ? (int64_t)value : 0;
        layer++;
    }
    int64_t behind = shape->mtp_layers > 1 ? shape->mtp_layers : 1;
    if (layer >= shape->layers && layer <= shape->layers + behind) return;
    gp_config_inconsistent(reader, "compress_ratios", (double)layer);
}

static void place_ratios(gp_config_reader *reader, const gp_shape *shape, gp_layer_plan *plan) {
    uint8_t kinds[GP_MAPPED_LAYERS];
    bool named = gp_plan_words(reader, "layer_types", layer_names, plan, kinds);
    for (int64_t i = 0; i < plan->count && named; i++) plan->of[i].compress = ratios[kinds[i]];
    if (named || gp_config_item(reader, "layer_types") != NULL) return;
    const cJSON *list = gp_config_list(reader, "compress_ratios");
    if (list != NULL) {
        take_ratios(reader, shape, list, plan);
    } else if (gp_config_item(reader, "compress_ratios") == NULL) {
        gp_diagnostic *row = gp_config_fault(reader, GP_CODE_INCOMPLETE_MODEL, "compress_ratios");
        gp_argue_text(row, "what", "compress_ratios");
    }
}

/* The first layers choose experts by a table of the token. */
static void place_tables(gp_config_reader *reader, gp_layer_plan *plan) {
    const cJSON *types = gp_config_item(reader, "mlp_layer_types"); /* read with the experts */
    int64_t first = gp_config_whole(reader, "num_hash_layers", 0, 3);
    for (int64_t i = 0; i < plan->count; i++) {
        const cJSON *type = cJSON_GetArrayItem(types, (int)i);
        plan->of[i].hashed = cJSON_IsString(type) ? strcmp(type->valuestring, "hash_moe") == 0 : i < first;
    }
}

static void read_sizes(gp_config_reader *reader, gp_shape *shape) {
    gp_latent *latent = &shape->latent;
    latent->q_lora = gp_config_whole(reader, "q_lora_rank", 1, 1024);
    latent->rope = gp_config_whole(reader, "qk_rope_head_dim", 0, 64);
    latent->index_heads = gp_config_whole(reader, "index_n_heads", 1, 64);
    latent->index_dim = gp_config_whole(reader, "index_head_dim", 1, 128);
    latent->index_topk = gp_config_whole(reader, "index_topk", 1, 512);
    latent->output_groups = gp_config_whole(reader, "o_groups", 1, 8);
    latent->output_lora = gp_config_whole(reader, "o_lora_rank", 1, 1024);
    shape->streams = gp_config_whole(reader, "hc_mult", 1, 4);
    shape->sliding_window = gp_config_whole(reader, "sliding_window", 1, 128);
    shape->sinks = true;
}

/* Sizes whose products with each other stay far below 2^63. */
static void check_sizes(gp_config_reader *reader, const gp_shape *shape) {
    const gp_latent *latent = &shape->latent;
    const struct {
        const char *key;
        int64_t value, most;
    } sizes[] = {
        {"hc_mult", shape->streams, 64},        {"o_groups", latent->output_groups, shape->heads},
        {"o_lora_rank", latent->output_lora, 65536}, {"q_lora_rank", latent->q_lora, 65536},
        {"index_n_heads", latent->index_heads, 65536}, {"index_head_dim", latent->index_dim, 65536},
        {"head_dim", shape->head_dim, 65536},   {"qk_rope_head_dim", latent->rope, shape->head_dim},
        {"num_key_value_heads", shape->kv_heads, 1},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].value <= sizes[i].most) continue;
        gp_config_out_of_range(reader, sizes[i].key, (double)sizes[i].value, 1, (double)sizes[i].most);
    }
    if (shape->heads % latent->output_groups == 0) return;
    gp_diagnostic *row = gp_config_fault(reader, GP_CODE_INCONSISTENT_MODEL, "o_groups");
    gp_argue_text(row, "what", "o_groups");
    gp_argue_number(row, "value", (double)latent->output_groups);
}

/* A prediction module holds a layer with the window alone and a router, two projections of hidden to hidden, and norms
 * of both inputs and of the result. */
void gp_rule_deepseek_v4(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    read_sizes(reader, shape);
    check_sizes(reader, shape);
    for (int64_t i = 0; i < plan->count; i++) plan->of[i].attention = GP_ATTENTION_COMPRESSED;
    shape->mtp_layers = gp_config_within(reader, "num_nextn_predict_layers", 0, shape->layers, 1);
    place_ratios(reader, shape, plan);
    place_tables(reader, plan);
    shape->mtp_norms = 3;
    plan->has_own_module = shape->mtp_layers > 0;
    plan->own_module = (gp_layer_kind){.attention = GP_ATTENTION_COMPRESSED, .feed_forward = GP_FFN_MOE};
}
