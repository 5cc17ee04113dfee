#include "quantization.h"

#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "text.h"

const char *gp_format_of_dtype(const char *dtype) {
    static const struct {
        const char *dtype, *format;
    } rows[] = {
        {"bfloat16", "bf16"}, {"bf16", "bf16"},    {"float16", "fp16"}, {"f16", "fp16"},  {"half", "fp16"},
        {"float32", "fp32"},  {"f32", "fp32"},     {"float", "fp32"},   {"int8", "int8"}, {"i8", "int8"},
        {"f8_e4m3", "fp8"},   {"f8_e5m2", "fp8"},  {"float8_e4m3fn", "fp8"}, {"float8_e5m2", "fp8"},
    };
    if (strncmp(dtype, "torch.", 6) == 0) dtype += 6;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (gp_text_is_folded(rows[i].dtype, dtype, strlen(dtype))) return rows[i].format;
    }
    return "";
}

static const cJSON *item_of(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNull(item) ? NULL : item;
}

/* A key of the model, or of the text model inside one for several kinds of input. */
static const cJSON *model_item(const cJSON *config, const char *key) {
    static const char *const inner[] = {"text_config", "llm_config", "language_config", "thinker_config"};
    const cJSON *item = item_of(config, key);
    for (size_t i = 0; item == NULL && i < sizeof inner / sizeof inner[0]; i++)
        item = item_of(item_of(config, inner[i]), key);
    return item;
}

static const char *text_of(const cJSON *object, const char *key) {
    const cJSON *item = item_of(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *object, const char *key) {
    const cJSON *item = item_of(object, key);
    return cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble <= 65536 ? item->valuedouble : 0;
}

static void set_format(gp_quantization *to, const char *format) {
    gp_text_copy(to->format, sizeof to->format, format, strlen(format));
}

static bool holds(const char *text, const char *word) {
    return gp_contains_folded(text, strlen(text), word, strlen(word));
}

/* Integer weights with a scale for each group: the group counts in the bits. */
static void set_integers(gp_quantization *to, double bits, double group, const char *four_bits) {
    to->bits = bits;
    if (bits == 4) set_format(to, group == 32 ? "int4-g32" : group == 64 ? "int4-g64" : four_bits);
    if (bits == 8) set_format(to, "int8");
}

/* The "weights" of compressed-tensors' (and modelopt's) config_groups, or of torchao-like settings. */
static void read_groups(const cJSON *settings, gp_quantization *to) {
    const cJSON *group = item_of(item_of(settings, "config_groups"), "group_0");
    const cJSON *weights = item_of(group, "weights");
    const char *format = text_of(group, "format");
    if (format[0] == '\0') format = text_of(settings, "format");
    double bits = number_of(weights, "num_bits"), size = number_of(weights, "group_size");
    bool floats = strcmp(text_of(weights, "type"), "float") == 0;
    to->bits = bits;
    if (holds(format, "mxfp4")) {
        set_format(to, "mxfp4");
    } else if (holds(format, "nvfp4")) {
        set_format(to, "nvfp4");
    } else if (floats) {
        set_format(to, bits == 8 ? "fp8" : bits == 4 ? (size == 32 ? "mxfp4" : "nvfp4") : "");
    } else {
        set_integers(to, bits, size, "w4a16");
    }
}

static void read_bitsandbytes(const cJSON *settings, gp_quantization *to) {
    bool four = cJSON_IsTrue(item_of(settings, "load_in_4bit")) || cJSON_IsTrue(item_of(settings, "_load_in_4bit"));
    bool nested = cJSON_IsTrue(item_of(settings, "bnb_4bit_use_double_quant"));
    set_format(to, four ? (nested ? "nf4-dq" : "nf4") : "int8");
    to->bits = four ? 4 : 8;
}

/* Methods whose name, or the word at `key`, tells the format: torchao's quant_type, quanto's and eetq's weights, Quark's
 * dtype, fp_quant's forward_dtype. */
static void read_words(const cJSON *settings, const char *method, gp_quantization *to) {
    static const struct {
        const char *method, *key, *word, *format;
        double bits;
    } rows[] = {
        {"torchao", "quant_type", "int4", "w4a16", 4}, {"torchao", "quant_type", "int8", "int8", 8},
        {"torchao", "quant_type", "float8", "fp8", 8}, {"torchao", "quant_type", "mx", "mxfp4", 4},
        {"quanto", "weights", "int8", "int8", 8},      {"quanto", "weights", "float8", "fp8", 8},
        {"quanto", "weights", "int4", "w4a16", 4},     {"eetq", "", "", "int8", 8},
        {"quark", "dtype", "fp8", "fp8", 8},           {"quark", "dtype", "fp4", "mxfp4", 4},
        {"quark", "dtype", "int4", "w4a16", 4},        {"quark", "dtype", "int8", "int8", 8},
        {"fp_quant", "forward_dtype", "mxfp4", "mxfp4", 4}, {"fp_quant", "forward_dtype", "nvfp4", "nvfp4", 4},
    };
    const cJSON *type = item_of(settings, "quant_type");
    const cJSON *nested = item_of(item_of(type, "default"), "_type");
    const cJSON *quark = item_of(item_of(settings, "global_quant_config"), "weight");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].method, method) != 0) continue;
        const char *word = text_of(quark != NULL ? quark : settings, rows[i].key);
        if (cJSON_IsString(nested)) word = nested->valuestring;
        if (rows[i].word[0] != '\0' && !holds(word, rows[i].word)) continue;
        to->bits = rows[i].bits;
        set_format(to, rows[i].format);
        return;
    }
}

/* HQQ keeps a scale and a zero of 16 bits for each group. */
static void read_hqq(const cJSON *settings, gp_quantization *to) {
    const cJSON *weights = item_of(item_of(settings, "quant_config"), "weight_quant_params");
    double bits = number_of(weights, "nbits"), group = number_of(weights, "group_size");
    set_integers(to, bits == 0 ? number_of(settings, "nbits") : bits, group, "w4a16");
}

static void read_method(const cJSON *settings, gp_quantization *to) {
    const char *method = text_of(settings, "quant_method"), *algorithm = text_of(settings, "quant_algo");
    double bits = number_of(settings, "bits"), group = number_of(settings, "group_size");
    if (bits == 0) bits = number_of(settings, "w_bit");
    const char *name = method[0] != '\0' ? method : algorithm[0] != '\0' ? algorithm : "?";
    gp_text_copy(to->method, sizeof to->method, name, strlen(name));
    to->bits = bits;
    if (holds(method, "gptq") || holds(method, "auto-round")) {
        set_integers(to, bits, group, "gptq4");
        if (bits == 8) set_format(to, "gptq8");
    } else if (strcmp(method, "awq") == 0) {
        set_integers(to, bits == 0 ? 4 : bits, group, "awq");
    } else if (strcmp(method, "bitsandbytes") == 0) {
        read_bitsandbytes(settings, to);
    } else if (strcmp(method, "exl2") == 0 && bits > 0) {
        snprintf(to->format, sizeof to->format, "exl2:%.4g", bits);
    } else if (holds(name, "mxfp4")) {
        set_format(to, "mxfp4");
    } else if (holds(algorithm, "nvfp4") || holds(method, "nvfp4")) {
        set_format(to, "nvfp4");
    } else if (holds(algorithm, "fp8") || holds(method, "fp8")) {
        set_format(to, "fp8");
    } else if (item_of(settings, "config_groups") != NULL) {
        read_groups(settings, to);
    } else if (strcmp(method, "hqq") == 0) {
        read_hqq(settings, to);
    } else if (method[0] == '\0' && bits > 0) {
        /* MLX states only these two. */
        snprintf(to->format, sizeof to->format, "mlx:q%.4g-g%.4g", bits, group > 0 ? group : 64);
    } else {
        read_words(settings, method, to);
    }
}

void gp_quantization_read(const cJSON *config, gp_quantization *to) {
    *to = (gp_quantization){.stated = true};
    const cJSON *settings = model_item(config, "quantization_config");
    if (!cJSON_IsObject(settings)) settings = model_item(config, "compression_config");
    if (!cJSON_IsObject(settings)) settings = item_of(config, "quantization");
    /* The producer's own file, as it is or inside (modelopt). */
    if (cJSON_IsObject(item_of(settings, "quantization"))) settings = item_of(settings, "quantization");
    if (cJSON_IsObject(settings) && settings->child != NULL) {
        read_method(settings, to);
        return;
    }
    const cJSON *dtype = model_item(config, "dtype");
    if (!cJSON_IsString(dtype)) dtype = model_item(config, "torch_dtype");
    if (cJSON_IsString(dtype)) set_format(to, gp_format_of_dtype(dtype->valuestring));
    if (to->format[0] != '\0') return;
    to->stated = false;
    set_format(to, "bf16");
}
