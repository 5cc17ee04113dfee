#include "config/config.h"

#include <string.h>

#include "cJSON.h"
#include "config/config_family.h"

/* What a config calls the dimensions: the names of the same one over the years, newest first, and those of configs of
 * another kind. */
#define FFN "intermediate_size"
typedef struct {
    const char *model_type, *layers, *hidden, *heads, *kv_heads, *head_dim, *ffn, *vocab, *context, *tied;
} dimension_names;
static const dimension_names usual_names = {
    "", "num_hidden_layers|n_layer|n_layers|num_layers", "hidden_size|n_embd|d_model|n_embed",
    "num_attention_heads|n_head|n_heads|num_heads", "num_key_value_heads|num_kv_heads|n_head_kv",
    "head_dim|kv_channels|attention_head_dim|d_kv", FFN "|n_inner|ffn_dim|ffn_hidden_size|d_ff",
    "vocab_size|padded_vocab_size", "max_position_embeddings|n_positions|max_seq_len|seq_length|n_ctx",
    "tie_word_embeddings"};
static const dimension_names other_names[] = {
    {"openelm", "num_transformer_layers", "model_dim", "num_query_heads", "num_kv_heads", "head_dim", "ffn_multipliers",
     "vocab_size", "max_context_length", "share_input_output_layers"},
    {GP_PARAMS_FILE, "n_layers", "dim", "n_heads", "n_kv_heads", "head_dim", "hidden_dim", "vocab_size",
     "max_position_embeddings|max_seq_len", "tied_embeddings"},
};

static const dimension_names *names_of(const gp_family *family) {
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++) {
        if (strcmp(other_names[i].model_type, family->model_type) == 0) return &other_names[i];
    }
    return &usual_names;
}

static const struct {
    unsigned key;
    const char *name;
    unsigned biases;
} bias_keys[] = {
    {GP_KEY_ATTENTION_BIAS, "attention_bias", GP_BIAS_QKV | GP_BIAS_OUTPUT},
    {GP_KEY_ATTENTION_BIAS_QKV, "attention_bias", GP_BIAS_QKV},
    {GP_KEY_MLP_BIAS, "mlp_bias", GP_BIAS_FFN},
    {GP_KEY_BIAS, "bias", GP_BIAS_QKV | GP_BIAS_OUTPUT | GP_BIAS_FFN},
    {GP_KEY_BIAS_ATTENTION, "bias", GP_BIAS_QKV | GP_BIAS_OUTPUT},
    {GP_KEY_BIAS_OUTPUT_FFN, "bias", GP_BIAS_OUTPUT | GP_BIAS_FFN},
    {GP_KEY_QKV_BIAS, "qkv_bias", GP_BIAS_QKV},
    {GP_KEY_USE_QKV_BIAS, "use_qkv_bias", GP_BIAS_QKV},
    {GP_KEY_USE_BIAS, "use_bias", GP_BIAS_QKV | GP_BIAS_OUTPUT | GP_BIAS_FFN},
    {GP_KEY_ENABLE_BIAS, "enable_bias", GP_BIAS_QKV | GP_BIAS_OUTPUT | GP_BIAS_FFN},
    {GP_KEY_ADD_BIAS_LINEAR, "add_bias_linear", GP_BIAS_QKV | GP_BIAS_OUTPUT | GP_BIAS_FFN},
    {GP_KEY_ADD_QKV_BIAS, "add_qkv_bias", GP_BIAS_QKV},
    {GP_KEY_OUT_BIAS, "attention_out_bias", GP_BIAS_OUTPUT},
};

static void read_biases(gp_config_reader *reader, const gp_family *family, gp_shape *shape) {
    unsigned biases = family->biases;
    for (size_t i = 0; i < sizeof bias_keys / sizeof bias_keys[0]; i++) {
        if ((family->bias_keys & bias_keys[i].key) == 0) continue;
        bool now = (biases & bias_keys[i].biases) == bias_keys[i].biases;
        if (gp_config_item(reader, bias_keys[i].name) == NULL) continue;
        bool bias = gp_config_switch(reader, bias_keys[i].name, now);
        biases = bias ? biases | bias_keys[i].biases : biases & ~bias_keys[i].biases;
    }
    shape->qkv_bias = (biases & GP_BIAS_QKV) != 0;
    shape->output_bias = (biases & GP_BIAS_OUTPUT) != 0;
    shape->ffn_bias = (biases & GP_BIAS_FFN) != 0;
}

/* Dimensions that a config leaves to its class (transformers, release 4.57): within a multimodal config, where 0 is none,
 * and for the heads of the first two anywhere. */
static const struct class_defaults {
    const char *model_type;
    int64_t layers, hidden, ffn, heads, vocab;
} class_defaults[] = {
    {"gemma3_text", 0, 0, 0, 8, 262208}, {"gemma3n_text", 0, 0, 0, 8, 262400},
    {"llama", 32, 4096, 11008, 32, 32000}, {"mistral", 32, 4096, 14336, 32, 32000},
    {"qwen2", 32, 4096, 22016, 32, 151936}, {"gemma", 28, 3072, 24576, 16, 256000},
    {"gemma2", 26, 2304, 9216, 8, 256000},
};

/* Row of a family, of which a config that is no part of another takes no more than heads. */
static struct class_defaults defaults_of(const gp_config_reader *reader, const gp_family *family) {
    for (size_t i = 0; i < sizeof class_defaults / sizeof class_defaults[0]; i++) {
        bool usual = reader->inside || class_defaults[i].layers == 0;
        if (usual && strcmp(class_defaults[i].model_type, family->model_type) == 0) return class_defaults[i];
    }
    return (struct class_defaults){.model_type = ""};
}

static int64_t or_required(int64_t value) { return value > 0 ? value : GP_REQUIRED; }

static void read_attention(gp_config_reader *reader, const gp_family *family, const struct class_defaults *usual,
                           gp_shape *shape) {
    const dimension_names *names = names_of(family);
    shape->heads = gp_config_whole(reader, names->heads, 1, or_required(usual->heads));
    bool latent = (family->traits & GP_MLA) != 0; /* whose cache has no heads */
    int64_t kv_heads = latent ? shape->heads : gp_config_default(reader, family->model_type, names->kv_heads, shape->heads);
    shape->kv_heads = gp_config_whole(reader, names->kv_heads, 1, kv_heads);
    int64_t head_dim = family->head_dim != 0 ? family->head_dim : shape->hidden / shape->heads;
    shape->head_dim = gp_config_whole(reader, names->head_dim, 1, head_dim > 0 ? head_dim : 1);
}

/* Nemotron 3 lists its layers instead of counting them. */
static int64_t layers_listed(const gp_config_reader *reader) {
    const cJSON *list = gp_config_item(reader, "layers_block_type");
    return cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
}

static void read_dimensions(gp_config_reader *reader, const gp_family *family, gp_shape *shape) {
    struct class_defaults usual = defaults_of(reader, family);
    const dimension_names *names = names_of(family);
    int64_t listed = layers_listed(reader), layers = listed > 0 ? listed : usual.layers;
    shape->layers = gp_config_within(reader, names->layers, 1, GP_LAYERS_MAX, or_required(layers));
    shape->hidden = gp_config_whole(reader, names->hidden, 1, or_required(usual.hidden));
    if ((family->traits & GP_NO_HEADS) == 0) {
        read_attention(reader, family, &usual, shape);
    } else {
        shape->heads = shape->kv_heads = shape->head_dim = 1;
    }
    shape->vocab = gp_config_whole(reader, names->vocab, 1, or_required(usual.vocab));
    shape->max_context = gp_config_whole(reader, names->context, 1, 0);
    int64_t ffn = family->ffn_factor == 0 ? or_required(usual.ffn) : family->ffn_factor * shape->hidden;
    if ((family->traits & GP_NO_FFN) != 0) ffn = 0;
    /* Their rules read each layer's width. */
    bool each = strcmp(family->model_type, "gemma3n_text") == 0 || strcmp(family->model_type, "openelm") == 0;
    if (!each || !cJSON_IsArray(gp_config_item(reader, names->ffn)))
        shape->ffn = gp_config_whole(reader, names->ffn, ffn == 0 ? 0 : 1, ffn);
    shape->tied_embeddings = gp_config_switch(reader, names->tied, shape->tied_embeddings);
    if ((family->traits & GP_LEARNED) != 0) shape->learned_positions = shape->max_context;
    if ((family->traits & GP_WINDOW) == 0) return;
    bool absent = cJSON_GetObjectItemCaseSensitive(reader->object, "sliding_window") == NULL;
    int64_t window = absent && (family->traits & GP_WINDOW_4096) != 0 ? 4096 : 0;
    shape->sliding_window = gp_config_whole(reader, "sliding_window", 1, window);
}

/* Experts and latent attention may hide behind the model_type of a dense family. */
static void refuse_sparse(gp_config_reader *reader, const gp_family *family, const gp_shape *shape) {
    static const char *const experts[] = {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"};
    bool known = (family->traits & GP_MOE) != 0 || shape->experts.count > 0;
    for (size_t i = 0; i < sizeof experts / sizeof experts[0] && !known; i++) {
        const cJSON *item = gp_config_item(reader, experts[i]);
        if (cJSON_IsNumber(item) && item->valuedouble > 1) gp_config_unsupported(reader, experts[i], "moe");
    }
    bool latent = shape->latent.kv_lora > 0;
    if (!latent && gp_config_item(reader, "kv_lora_rank") != NULL) gp_config_unsupported(reader, "kv_lora_rank", "MLA");
}

/* `layer_types` names the attention of every layer, whatever the family. */
static void read_layer_types(gp_config_reader *reader, gp_shape *shape, gp_layer_plan *plan) {
    if (!gp_plan_layer_types(reader, shape, plan)) return;
    bool sliding = false;
    for (int64_t i = 0; i < plan->count; i++) sliding = sliding || plan->of[i].attention == GP_ATTENTION_SLIDING;
    int64_t window = shape->sliding_window > 0 ? shape->sliding_window : GP_REQUIRED;
    if (sliding) shape->sliding_window = gp_config_whole(reader, "sliding_window", 1, window);
    if (!sliding) shape->sliding_window = 0;
}

static void read_layers(gp_config_reader *reader, const gp_family *family, gp_shape *shape) {
    gp_layer_plan plan;
    gp_layer_kind kind = {.attention = shape->sliding_window > 0 ? GP_ATTENTION_SLIDING : GP_ATTENTION_FULL};
    gp_plan_start(shape, &kind, &plan);
    if ((family->traits & GP_MLA) != 0) gp_plan_latent(reader, shape, &plan);
    if ((family->traits & GP_MOE) != 0) gp_plan_experts(reader, shape, &plan);
    gp_family_rule *rule = gp_rule_of(family);
    if (rule != NULL) rule(reader, shape, &plan);
    refuse_sparse(reader, family, shape);
    if ((family->traits & GP_OWN_LAYERS) == 0) {
        read_layer_types(reader, shape, &plan);
        gp_plan_per_layer(reader, &plan);
    }
    gp_plan_settle(reader, &plan, shape);
}

/* Products of two dimensions are counted in 64 bits: a width beyond 2^40 describes no model. */
static void check_widths(gp_config_reader *reader, const gp_shape *shape) {
    const int64_t widest = INT64_C(1) << 40;
    const gp_state_space *ssm = &shape->recurrent;
    const gp_latent *latent = &shape->latent;
    int64_t widths[] = {shape->heads * shape->head_dim, ssm->key_heads * ssm->state, ssm->groups * ssm->state,
                        shape->heads * (latent->nope + latent->rope + 2), latent->index_heads * latent->index_dim,
                        shape->heads * latent->value, shape->heads * shape->value_dim};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        if (widths[i] <= widest) continue;
        gp_diagnostic *row = gp_config_fault(reader, GP_CODE_OUT_OF_RANGE, "num_attention_heads");
        gp_argue_number(row, "value", (double)widths[i]);
        gp_argue_number(row, "min", 1);
        gp_argue_number(row, "max", (double)widest);
        return;
    }
}

static void check_heads(gp_config_reader *reader, const gp_family *family, const gp_shape *shape) {
    bool given = family->head_dim != 0 || shape->head_dim * shape->heads != shape->hidden / shape->heads * shape->heads ||
                 gp_config_item(reader, "head_dim") != NULL || gp_config_item(reader, "kv_channels") != NULL;
    const char *what = NULL;
    int64_t value = 0;
    if (!given && shape->hidden % shape->heads != 0) {
        what = "num_attention_heads";
        value = shape->heads;
    } else if (shape->heads % shape->kv_heads != 0) {
        what = "num_key_value_heads";
        value = shape->kv_heads;
    }
    if (what == NULL) return;
    gp_config_inconsistent(reader, what, (double)value);
}

/* The family by model_type, else by the first architecture, else by the names of the dimensions. NULL after a
 * diagnostic. */
static const gp_family *find_family(gp_config_reader *reader) {
    const char *type = gp_config_text(reader, "model_type");
    if (type != NULL) {
        const gp_family *family = gp_family_find(type);
        if (family == NULL) gp_config_unsupported(reader, "model_type", type);
        return family;
    }
    const cJSON *first = cJSON_GetArrayItem(gp_config_item(reader, "architectures"), 0);
    if (reader->usable && cJSON_IsString(first)) {
        const gp_family *family = gp_family_of_architecture(first->valuestring);
        if (family == NULL) gp_config_unsupported(reader, "architectures", first->valuestring);
        return family;
    }
    bool params = gp_config_item(reader, "dim") != NULL && gp_config_item(reader, "n_layers") != NULL;
    if (params && reader->usable) return gp_family_find(GP_PARAMS_FILE);
    if (reader->usable) gp_config_whole(reader, "model_type", 1, GP_REQUIRED);
    return NULL;
}

/* A dense block has a width. */
static void check_dense(gp_config_reader *reader, const gp_shape *shape) {
    for (int i = 0; i < shape->kind_count; i++) {
        const gp_layer_kind *kind = &shape->kinds[i];
        bool beside = kind->feed_forward == GP_FFN_MOE_BESIDE_DENSE && shape->experts.dense_ffn == 0;
        if ((kind->feed_forward != GP_FFN_DENSE && !beside) || kind->ffn > 0 || shape->ffn > 0) continue;
        gp_argue_text(gp_config_fault(reader, GP_CODE_INCOMPLETE_MODEL, FFN), "what", FFN);
        return;
    }
}

/* A cap under the key bounds what it names, null does not; without the key the family's own holds. */
static void read_cap(gp_config_reader *reader, const char *key, uint32_t caps, gp_shape *shape) {
    if (cJSON_GetObjectItemCaseSensitive(reader->object, key) == NULL) return;
    bool capped = gp_config_number(reader, key, 0, 1e9, 0) > 0;
    shape->code = capped ? shape->code | caps : shape->code & ~caps;
}

static void read_family(gp_config_reader *reader, const gp_family *family, gp_shape *shape) {
    gp_family_structure(family, shape);
    read_dimensions(reader, family, shape);
    read_biases(reader, family, shape);
    read_layers(reader, family, shape);
    if (!gp_config_switch(reader, "use_parallel_residual", true)) shape->code &= ~(uint32_t)GP_CODE_NORMS_BESIDE;
    read_cap(reader, "attn_logit_softcapping", GP_CODE_CAPS_SCORES, shape);
    read_cap(reader, "final_logit_softcapping", GP_CODE_CAPS_LOGITS, shape);
    if (reader->usable) check_dense(reader, shape);
    if (reader->usable) check_heads(reader, family, shape);
    if (reader->usable) check_widths(reader, shape);
}

/* Key of the language model inside a multimodal config, or NULL. */
static const char *inner_key(gp_config_reader *reader) {
    static const char *const keys[] = {"llm_config", "text_config", "language_config", "thinker_config"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (cJSON_IsObject(gp_config_item(reader, keys[i]))) return keys[i];
        gp_config_check_object(reader, keys[i]);
    }
    return NULL;
}

/* The language model of a multimodal config stands in an object of its own, sometimes in one more; what it leaves out,
 * as the tying of its embeddings, may stand around it. */
static bool read_nested(const gp_config_reader *outer, const char *key, gp_shape *shape) {
    char paths[2][GP_PATH_BYTES]; /* which the readers point to */
    gp_config_reader around = *outer, reader = gp_config_inside(&around, key, paths[0]);
    const char *further = inner_key(&reader);
    if (further != NULL) {
        around = reader;
        reader = gp_config_inside(&around, further, paths[1]);
    }
    const char *type = gp_config_text(&reader, "model_type"), *whole = gp_config_text(&around, "model_type");
    const gp_family *family = type == NULL ? NULL : gp_family_find(type);
    if (family == NULL && whole != NULL) family = gp_family_find(whole);
    if (family == NULL) family = find_family(&reader);
    if (family == NULL) return false;
    read_family(&reader, family, shape);
    shape->tied_embeddings = gp_config_switch(&around, "tie_word_embeddings", shape->tied_embeddings);
    gp_config_towers(&around, shape);
    return reader.usable && around.usable;
}

bool gp_config_read(const cJSON *config, const char *path, gp_shape *shape, gp_diagnostics *diagnostics) {
    gp_config_reader reader = {config, path, diagnostics, true, false};
    memset(shape, 0, sizeof *shape);
    shape->model_type = "";
    if (!cJSON_IsObject(config)) {
        gp_argue_text(gp_diagnose(diagnostics, GP_CODE_WRONG_TYPE, path), "expected", "object");
        return false;
    }
    const char *inner = inner_key(&reader);
    if (inner != NULL) return read_nested(&reader, inner, shape);
    const gp_family *family = find_family(&reader);
    if (family == NULL) return false;
    read_family(&reader, family, shape);
    gp_config_architecture(&reader, family, shape);
    gp_config_towers(&reader, shape);
    return reader.usable;
}
