/* Families whose layers differ in what their attention sees. The names are those of the published configurations, the
 * defaults those of the configuration classes in the transformers library (release 4.57). */
#include <string.h>

#include "cJSON.h"
#include "config/config_family.h"

/* One layer in `period` is global, the last of each. */
static const struct {
    const char *model_type;
    int64_t period, window;
} patterns[] = {
    {"gemma2", 2, 4096}, {"gemma3_text", 6, 4096}, {"cohere2", 4, 4096}, {"olmo3", 4, 4096}, {"exaone4", 4, 0},
    {"gpt_oss", 2, 128}, {"gemma3n_text", 5, 512},
};

void gp_rule_windows(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    int64_t period = 0, window = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        if (strcmp(patterns[i].model_type, shape->model_type) != 0) continue;
        period = patterns[i].period;
        window = patterns[i].window;
    }
    bool absent = cJSON_GetObjectItemCaseSensitive(reader->object, "sliding_window") == NULL;
    shape->sliding_window = gp_config_whole(reader, "sliding_window", 1, absent ? window : 0);
    const cJSON *stated = gp_config_item(reader, "sliding_window_pattern");
    if (cJSON_IsNumber(stated)) {
        period = gp_config_whole(reader, "sliding_window_pattern", 1, period);
    } else if (cJSON_IsString(stated) && stated->valuestring[0] != '\0') {
        period = (int64_t)strlen(stated->valuestring); /* EXAONE 4: "LLLG" */
    } else if (stated != NULL) {
        gp_config_wrong_type(reader, "sliding_window_pattern", "integer");
    }
    if (shape->sliding_window > 0) gp_plan_windows(period, GP_ATTENTION_SLIDING, plan);
    shape->qk_norm = gp_config_switch(reader, "use_qk_norm", shape->qk_norm);
}

/* Llama 4: attention within chunks, but every fourth layer sees all; experts in every `interleave_moe_layer_step`-th
 * layer, with a shared expert of the same width; the other layers have a width of their own. */
void gp_rule_llama4(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    int64_t chunk = gp_config_default(reader, shape->model_type, "attention_chunk_size", 0);
    shape->sliding_window = gp_config_whole(reader, "attention_chunk_size", 1, chunk);
    gp_experts *experts = &shape->experts;
    experts->ffn = experts->shared_ffn = shape->ffn;
    int64_t dense = gp_config_default(reader, shape->model_type, "intermediate_size_mlp", shape->ffn);
    shape->ffn = gp_config_whole(reader, "intermediate_size_mlp", 1, dense);
    int64_t step = gp_config_whole(reader, "interleave_moe_layer_step", 1, 1);
    if (shape->sliding_window > 0) gp_plan_windows(4, GP_ATTENTION_CHUNKED, plan);
    bool listed[GP_MAPPED_LAYERS], given = gp_plan_listed(reader, "moe_layers", 0, listed, plan->count);
    for (int64_t i = 0; i < plan->count; i++) {
        bool moe = experts->count > 0 && (given ? listed[i] : (i + 1) % step == 0);
        plan->of[i].feed_forward = moe ? GP_FFN_MOE : GP_FFN_DENSE;
    }
    gp_plan_layer_types(reader, shape, plan);
}

/* Keys and values of the first layer of each group serve the group (Hunyuan-Large: Sun et al. 2024, arXiv:2411.02265,
 * section 2.1.1; cross-layer attention: Brandon et al. 2024, arXiv:2405.12981). */
void gp_rule_hunyuan_moe(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    shape->qk_norm = gp_config_switch(reader, "use_qk_norm", false);
    if (!gp_config_switch(reader, "use_cla", false)) return;
    int64_t group = gp_config_whole(reader, "cla_share_factor", 1, 2);
    for (int64_t i = 0; i < plan->count; i++) plan->of[i].shares_kv = i % group != 0;
}

/* Llama 3.2 Vision: cross attention to the image instead of self-attention in the listed layers, each with two gates;
 * eight more rows in the embedding than in the head. */
void gp_rule_mllama(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    bool crossing[GP_MAPPED_LAYERS];
    gp_plan_listed(reader, "cross_attention_layers", 0, crossing, plan->count);
    for (int64_t i = 0; i < plan->count; i++) {
        if (!crossing[i]) continue;
        plan->of[i].attention = GP_ATTENTION_CROSS;
        plan->of[i].extra_params = 2;
    }
    shape->extra_params = 8 * shape->hidden;
}

/* T5: an encoder of as many layers before the decoder, whose layers attend to it as well. Each stack has a table of
 * relative positions and a final norm. */
void gp_rule_t5(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    int64_t encoder = shape->layers, decoder = gp_config_within(reader, "num_decoder_layers", 1, GP_LAYERS_MAX, encoder);
    const char *form = gp_config_text(reader, "feed_forward_proj");
    shape->gated_ffn = form != NULL && strncmp(form, "gated", 5) == 0;
    shape->layers = encoder + decoder;
    gp_layer_kind kind = {.attention = GP_ATTENTION_ENCODER};
    gp_plan_start(shape, &kind, plan);
    for (int64_t i = encoder; i < plan->count; i++) {
        plan->of[i].attention = GP_ATTENTION_FULL;
        plan->of[i].crosses = true;
    }
    int64_t buckets = gp_config_whole(reader, "relative_attention_num_buckets", 1, 32);
    if (buckets > 65536) gp_config_unsupported(reader, "relative_attention_num_buckets", "t5");
    if (!reader->usable) return;
    shape->extra_params = 2 * buckets * shape->heads + shape->hidden;
}

/* Last layers that reuse an earlier one's cache: not all, for one has to fill it. */
static int64_t read_sharing(gp_config_reader *reader, const gp_shape *shape, int64_t usual) {
    int64_t sharing = gp_config_within(reader, "num_kv_shared_layers", 0, shape->layers - 1, usual);
    if (sharing >= shape->layers) gp_config_inconsistent(reader, "num_kv_shared_layers", (double)sharing);
    return sharing;
}

/* Gemma 3n (github.com/huggingface/transformers modeling_gemma3n.py): the residual stream is held altup_num_inputs
 * times; each layer has predictors and correctors over them, a low-rank LAuReL block, and an input of its own from a
 * second embedding. The last num_kv_shared_layers reuse the cache of an earlier layer. */
void gp_rule_gemma3n(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    int64_t hidden = shape->hidden, streams = gp_config_whole(reader, "altup_num_inputs", 1, 4);
    int64_t width = gp_config_whole(reader, "hidden_size_per_layer_input", 1, 256);
    int64_t rows = gp_config_whole(reader, "vocab_size_per_layer_input", 1, 262144);
    int64_t laurel = gp_config_whole(reader, "laurel_rank", 1, 64);
    int64_t sharing = read_sharing(reader, shape, 15);
    int64_t widths[GP_MAPPED_LAYERS];
    bool usual = streams <= 64 && width <= 65536 && laurel <= 65536 && hidden <= 65536 && rows <= 1 << 24;
    if (!usual || shape->layers > GP_MAPPED_LAYERS) {
        gp_config_unsupported(reader, "altup_num_inputs", "gemma3n");
        return;
    }
    gp_rule_windows(reader, shape, plan);
    bool listed = cJSON_IsArray(gp_config_item(reader, "intermediate_size")) &&
                  gp_config_numbers(reader, "intermediate_size", 1, GP_DIMENSION_MAX, plan->count, widths);
    if (listed) shape->ffn = widths[0];
    for (int64_t i = 0; i < plan->count; i++) {
        if (listed) plan->of[i].ffn = widths[i];
        plan->of[i].extra_params = 2 * hidden + streams * streams * (streams + 1) + hidden * streams +
                                   2 * laurel * hidden + hidden + 2 * width * hidden + hidden;
        if (i >= plan->count - sharing) plan->of[i].shares_kv = plan->of[i].keeps_projections = true;
    }
    shape->extra_params = rows * shape->layers * width + hidden * shape->layers * width + width +
                          2 * (streams - 1) * hidden * hidden;
}

/* Global layers of Gemma 4 have wider heads, fewer of them for keys, and may use one projection for keys and values. */
static void widen_global(gp_config_reader *reader, gp_layer_plan *plan) {
    int64_t head_dim = gp_config_whole(reader, "global_head_dim", 1, 512);
    bool alike = gp_config_switch(reader, "attention_k_eq_v", false);
    int64_t kv_heads = alike ? gp_config_whole(reader, "num_global_key_value_heads", 1, 0) : 0;
    for (int64_t i = 0; i < plan->count; i++) {
        if (plan->of[i].attention != GP_ATTENTION_FULL) continue;
        plan->of[i].head_dim = head_dim;
        plan->of[i].kv_heads = kv_heads;
        plan->of[i].keys_are_values = alike;
    }
}

/* Gemma 4 (github.com/huggingface/transformers modular_gemma4.py): one layer of six global; a scalar per layer; small
 * members with an input of its own for each layer, and a last part that reuses an earlier cache, whose projections the
 * files hold all the same and whose feed-forward block may be twice as wide; experts beside a dense block, with a
 * scaled router and three more norms. */
void gp_rule_gemma4(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    int64_t hidden = shape->hidden, width = gp_config_whole(reader, "hidden_size_per_layer_input", 0, 256);
    int64_t rows = gp_config_whole(reader, "vocab_size_per_layer_input", 1, 262144);
    int64_t sharing = read_sharing(reader, shape, 0);
    bool wide = gp_config_switch(reader, "use_double_wide_mlp", false);
    bool experts = gp_config_switch(reader, "enable_moe_block", false);
    bool usual = width <= 65536 && hidden <= 65536 && rows <= 1 << 24 && shape->ffn <= 1 << 24 && shape->heads <= 65536;
    if (!usual || shape->layers > GP_MAPPED_LAYERS) {
        gp_config_unsupported(reader, "hidden_size_per_layer_input", "gemma4");
        return;
    }
    if (!experts) shape->experts = (gp_experts){0};
    shape->sliding_window = gp_config_whole(reader, "sliding_window", 1, 512);
    if (!gp_plan_layer_types(reader, shape, plan)) gp_plan_windows(6, GP_ATTENTION_SLIDING, plan);
    widen_global(reader, plan);
    for (int64_t i = 0; i < plan->count; i++) {
        gp_layer_kind *kind = &plan->of[i];
        kind->feed_forward = experts ? GP_FFN_MOE_BESIDE_DENSE : GP_FFN_DENSE;
        kind->extra_params = 1 + (width > 0 ? 2 * hidden * width + hidden : 0);
        if (experts) kind->extra_params += 4 * hidden + shape->experts.count;
        if (i < plan->count - sharing) continue;
        kind->shares_kv = kind->keeps_projections = true;
        if (wide) kind->ffn = 2 * shape->ffn;
    }
    if (width > 0) shape->extra_params = (rows + hidden) * shape->layers * width + width;
}
