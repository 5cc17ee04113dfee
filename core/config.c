#include "config.h"

#include <string.h>

#include "cJSON.h"
#include "config_family.h"

/* Names of the same dimension over the years, newest first. */
#define LAYERS "num_hidden_layers|n_layer|n_layers|num_layers"
#define HIDDEN "hidden_size|n_embd|d_model|n_embed"
#define HEADS "num_attention_heads|n_head|n_heads"
#define KV_HEADS "num_key_value_heads|num_kv_heads|n_head_kv"
#define HEAD_DIM "head_dim|kv_channels"
#define FFN "intermediate_size|n_inner|ffn_dim|ffn_hidden_size"
#define VOCAB "vocab_size|padded_vocab_size"
#define CONTEXT "max_position_embeddings|n_positions|max_seq_len|seq_length|n_ctx"

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

static void read_dimensions(gp_config_reader *reader, const gp_family *family, gp_shape *shape) {
    shape->layers = gp_config_whole(reader, LAYERS, 1, GP_REQUIRED);
    shape->hidden = gp_config_whole(reader, HIDDEN, 1, GP_REQUIRED);
    shape->heads = gp_config_whole(reader, HEADS, 1, GP_REQUIRED);
    shape->kv_heads = gp_config_whole(reader, KV_HEADS, 1, shape->heads);
    shape->vocab = gp_config_whole(reader, VOCAB, 1, GP_REQUIRED);
    shape->max_context = gp_config_whole(reader, CONTEXT, 1, 0);
    int64_t ffn = family->ffn_factor == 0 ? GP_REQUIRED : family->ffn_factor * shape->hidden;
    shape->ffn = gp_config_whole(reader, FFN, 1, ffn);
    int64_t head_dim = family->head_dim != 0 ? family->head_dim : shape->hidden / shape->heads;
    shape->head_dim = gp_config_whole(reader, HEAD_DIM, 1, head_dim > 0 ? head_dim : 1);
    shape->tied_embeddings = gp_config_switch(reader, "tie_word_embeddings", shape->tied_embeddings);
    if ((family->traits & GP_LEARNED) != 0) shape->learned_positions = shape->max_context;
    if ((family->traits & GP_WINDOW) == 0) return;
    bool absent = cJSON_GetObjectItemCaseSensitive(reader->object, "sliding_window") == NULL;
    int64_t window = absent && (family->traits & GP_WINDOW_4096) != 0 ? 4096 : 0;
    shape->sliding_window = gp_config_whole(reader, "sliding_window", 1, window);
}

/* Experts and latent attention may hide behind the model_type of a dense family. */
static void refuse_sparse(gp_config_reader *reader) {
    static const char *const experts[] = {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"};
    for (size_t i = 0; i < sizeof experts / sizeof experts[0]; i++) {
        const cJSON *item = gp_config_item(reader, experts[i]);
        if (cJSON_IsNumber(item) && item->valuedouble > 1) gp_config_unsupported(reader, experts[i], "moe");
    }
    if (gp_config_item(reader, "kv_lora_rank") != NULL) gp_config_unsupported(reader, "kv_lora_rank", "MLA");
}

/* `layer_types` names the kind of every layer. One window for all is a shape's sliding_window; a mixture, or layers
 * that are no attention, is not a dense shape. */
static void read_layer_types(gp_config_reader *reader, gp_shape *shape) {
    const cJSON *types = gp_config_item(reader, "layer_types"), *type = NULL;
    int sliding = 0, full = 0;
    cJSON_ArrayForEach(type, types) {
        const char *name = cJSON_IsString(type) ? type->valuestring : "";
        if (strcmp(name, "sliding_attention") == 0) {
            sliding++;
        } else if (strcmp(name, "full_attention") == 0 || strcmp(name, "attention") == 0) {
            full++;
        } else {
            gp_config_unsupported(reader, "layer_types", name);
            return;
        }
    }
    if (sliding > 0 && full > 0) {
        gp_config_unsupported(reader, "layer_types", "sliding and full attention layers");
    } else if (sliding > 0) {
        shape->sliding_window = gp_config_whole(reader, "sliding_window", 1, shape->sliding_window);
    } else if (full > 0) {
        shape->sliding_window = 0;
    }
}

static void check_heads(gp_config_reader *reader, const gp_family *family, const gp_shape *shape) {
    bool given = family->head_dim != 0 || gp_config_item(reader, "head_dim") != NULL ||
                 gp_config_item(reader, "kv_channels") != NULL;
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
    gp_diagnostic *row = gp_config_fault(reader, GP_CODE_INCONSISTENT_MODEL, what);
    gp_argue_text(row, "what", what);
    gp_argue_number(row, "value", (double)value);
}

/* The family by model_type, else by the first architecture. NULL after a diagnostic. */
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
    if (reader->usable) gp_config_whole(reader, "model_type", 1, GP_REQUIRED);
    return NULL;
}

bool gp_config_read(const cJSON *config, const char *path, gp_shape *shape, gp_diagnostics *diagnostics) {
    gp_config_reader reader = {config, path, diagnostics, true};
    memset(shape, 0, sizeof *shape);
    shape->model_type = "";
    if (!cJSON_IsObject(config)) {
        gp_argue_text(gp_diagnose(diagnostics, GP_CODE_WRONG_TYPE, path), "expected", "object");
        return false;
    }
    const gp_family *family = find_family(&reader);
    if (family == NULL) return false;
    gp_family_structure(family, shape);
    read_dimensions(&reader, family, shape);
    read_biases(&reader, family, shape);
    if (family->rule != NULL) family->rule(&reader, shape);
    refuse_sparse(&reader);
    read_layer_types(&reader, shape);
    if (reader.usable) check_heads(&reader, family, shape);
    return reader.usable;
}

bool gp_config_structure(const char *model_type, gp_shape *shape) {
    const gp_family *family = gp_family_find(model_type);
    if (family == NULL) return false;
    gp_family_structure(family, shape);
    shape->learned_positions = (family->traits & GP_LEARNED) != 0 ? shape->max_context : 0;
    return true;
}
