#include "config/quantization.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "config/config_reader.h"
#include "config/quantization_skips.h"
#include "formats/format.h"
#include "base/text.h"

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

/* Widest weight, largest group and block. */
enum { BITS_MAX = 32, GROUP_MAX = 65536, GROUP_ABSENT = 0, GROUP_CHANNEL = -1 };

static void set_format(gp_quantization *to, const char *format) {
    gp_text_copy(to->format, sizeof to->format, format, strlen(format));
}

static bool holds(const char *text, const char *word) {
    return gp_contains_folded(text, strlen(text), word, strlen(word));
}

static const char *text_of(gp_config_reader *settings, const char *key) {
    const char *text = gp_config_text(settings, key);
    return text == NULL ? "" : text;
}

static double bits_of(gp_config_reader *settings, const char *key) {
    return gp_config_number(settings, key, 1, BITS_MAX, 0);
}

static void require(gp_config_reader *settings, const char *key) {
    if (gp_config_item(settings, key) != NULL) return;
    gp_argue_text(gp_config_fault(settings, GP_CODE_INCOMPLETE_MODEL, key), "what", key);
}

/* Weights that share a scale: GROUP_ABSENT when it is not stated, GROUP_CHANNEL (-1) for one scale in each row. */
static double group_of(gp_config_reader *settings) {
    if (gp_config_item(settings, "group_size") == NULL) return GROUP_ABSENT;
    double group = (double)gp_config_within(settings, "group_size", GROUP_CHANNEL, GROUP_MAX, GROUP_ABSENT);
    if (group == 0 && settings->usable) gp_config_out_of_range(settings, "group_size", 0, 1, GROUP_MAX);
    return group;
}

static void not_told(gp_config_reader *reader, const char *what, const char *taken) {
    gp_diagnostic *row = gp_diagnose(reader->diagnostics, GP_CODE_FORMAT_NOT_TOLD, what);
    gp_argue_text(row, "what", what);
    gp_argue_text(row, "value", taken);
}

/* Several settings where only one counts: which it is. */
static void several(const gp_config_reader *reader, const char *key, const char *taken) {
    gp_diagnostic *row = gp_config_note(reader, GP_CODE_FORMATS_MIXED, key);
    gp_argue_text(row, "what", key);
    gp_argue_text(row, "value", taken);
}

/* 8-bit floats, with a scale for each block of rows and columns where there are blocks. */
static void set_fp8(gp_config_reader *settings, gp_quantization *to) {
    const char *key = "weight_block_size";
    const cJSON *block = gp_config_item(settings, key), *side = NULL;
    double sides[2] = {0, 0};
    int count = 0;
    set_format(to, "fp8");
    if (block == NULL) return;
    if (!cJSON_IsArray(block) || cJSON_GetArraySize(block) != 2) {
        gp_config_wrong_type(settings, key, "list");
        return;
    }
    cJSON_ArrayForEach(side, block) {
        double value = side->valuedouble;
        if (!cJSON_IsNumber(side)) gp_config_wrong_type(settings, key, "list");
        else if (!(value >= 1 && value <= GROUP_MAX)) gp_config_out_of_range(settings, key, value, 1, GROUP_MAX);
        else sides[count++] = floor(value);
        if (!settings->usable) return;
    }
    if (sides[0] == 128 && sides[1] == 128) set_format(to, "fp8-block");
    else snprintf(to->format, sizeof to->format, "fp8-b%.0fx%.0f", sides[0], sides[1]);
}

/* Integers with a scale for each group, "<name><bits><tail>-g<group>"; `usual` is the row of 4 bits in groups of 128. */
static void set_integers(gp_quantization *to, double bits, double group, const char *name, const char *tail, const char *usual) {
    gp_format scratch;
    char label[GP_METHOD_BYTES];
    to->bits = bits;
    if (group == GROUP_CHANNEL) snprintf(label, sizeof label, "%s%.4g%s-channel", name, bits, tail);
    else snprintf(label, sizeof label, "%s%.4g%s-g%.0f", name, bits, tail, group);
    if (bits == 4 && group == 128) set_format(to, usual);
    else if (gp_format_find(label, &scratch) != NULL) set_format(to, label);
}

/* The first of config_groups that packs weights; its object is NULL when none does. */
static gp_config_reader group_with_weights(gp_config_reader *groups, char *path) {
    const cJSON *group = NULL;
    cJSON_ArrayForEach(group, groups->object) {
        if (cJSON_IsObject(group) && cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(group, "weights"))) break;
    }
    if (group == NULL) return (gp_config_reader){NULL, groups->path, groups->diagnostics, true, true};
    return gp_config_inside(groups, group->string, path);
}

/* Whether another group packs its weights in other bits. */
static bool groups_differ(const gp_config_reader *groups, double bits) {
    const cJSON *group = NULL;
    cJSON_ArrayForEach(group, groups->object) {
        const cJSON *weights = cJSON_GetObjectItemCaseSensitive(group, "weights");
        const cJSON *other = cJSON_GetObjectItemCaseSensitive(weights, "num_bits");
        if (cJSON_IsObject(weights) && (cJSON_IsNumber(other) ? other->valuedouble : 8) != bits) return true;
    }
    return false;
}

/* The "weights" of compressed-tensors' and modelopt's config_groups; integers of 8 bits where they say nothing else, as
 * in the compressed-tensors library. */
static void read_groups(gp_config_reader *settings, gp_quantization *to) {
    char paths[3][GP_PATH_BYTES];
    gp_config_reader groups = gp_config_inside(settings, "config_groups", paths[0]);
    gp_config_reader group = group_with_weights(&groups, paths[1]);
    if (group.object == NULL) return;
    gp_config_reader weights = gp_config_inside(&group, "weights", paths[2]);
    gp_quantization_targets(gp_config_item(&group, "targets"), to);
    const char *format = text_of(&group, "format");
    if (format[0] == '\0') format = text_of(settings, "format");
    double bits = gp_config_number(&weights, "num_bits", 1, BITS_MAX, 8), size = group_of(&weights);
    bool floats = strcmp(text_of(&weights, "type"), "float") == 0, symmetric = gp_config_switch(&weights, "symmetric", true);
    if (size == GROUP_ABSENT) size = GROUP_CHANNEL;
    to->bits = bits;
    if (holds(format, "mxfp4")) {
        set_format(to, "mxfp4");
    } else if (holds(format, "nvfp4")) {
        set_format(to, "nvfp4");
    } else if (floats) {
        set_format(to, bits == 8 ? "fp8" : bits == 4 ? (size == 32 ? "mxfp4" : "nvfp4") : "");
    } else if (bits == 8 && size == GROUP_CHANNEL) {
        set_format(to, "int8");
    } else if (symmetric) {
        set_integers(to, bits, size, "w", "a16", "w4a16");
    } else {
        set_integers(to, bits, size, "awq", "", "awq");
    }
    if (groups_differ(&groups, bits)) several(settings, "config_groups", to->format);
}

static void read_bitsandbytes(gp_config_reader *settings, bool four, gp_quantization *to) {
    bool nested = gp_config_switch(settings, "bnb_4bit_use_double_quant", false);
    set_format(to, four ? (nested ? "nf4-dq" : "nf4") : "int8");
    to->bits = four ? 4 : 8;
}

/* Methods whose name, or the word at `key`, tells the format: torchao's quant_type, quanto's and eetq's weights, Quark's
 * dtype, fp_quant's forward_dtype. */
static void read_words(const gp_config_reader *settings, const char *method, gp_quantization *to) {
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
    const cJSON *type = gp_config_item(settings, "quant_type");
    const cJSON *nested = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(type, "default"), "_type");
    const cJSON *quark = cJSON_GetObjectItemCaseSensitive(gp_config_item(settings, "global_quant_config"), "weight");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].method, method) != 0) continue;
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(quark != NULL ? quark : settings->object, rows[i].key);
        const char *word = cJSON_IsString(nested) ? nested->valuestring : cJSON_IsString(item) ? item->valuestring : "";
        if (rows[i].word[0] != '\0' && !holds(word, rows[i].word)) continue;
        to->bits = rows[i].bits;
        set_format(to, rows[i].format);
        return;
    }
}

/* HQQ keeps a scale and a zero of 16 bits for each group, of 64 weights unless it says otherwise. */
static void read_hqq(gp_config_reader *settings, gp_quantization *to) {
    char paths[2][GP_PATH_BYTES];
    gp_config_reader around = gp_config_inside(settings, "quant_config", paths[0]);
    gp_config_reader weights = gp_config_inside(&around, "weight_quant_params", paths[1]);
    gp_config_reader *from = weights.object != NULL ? &weights : settings;
    require(from, "nbits");
    double group = group_of(from);
    set_integers(to, bits_of(from, "nbits"), group == GROUP_ABSENT ? 64 : group, "int", "", "int4");
}

/* GPTQ and AWQ: groups of 128 unless they say otherwise. */
static void read_zero_points(double bits, double group, const char *name, gp_quantization *to) {
    bool gptq = strcmp(name, "gptq") == 0, usual = group == GROUP_ABSENT || group == 128;
    set_integers(to, bits == 0 ? 4 : bits, usual ? 128 : group, name, "", gptq ? "gptq4" : "awq");
    if (usual && gptq && bits == 3) set_format(to, "gptq3");
    if (usual && gptq && bits == 8) set_format(to, "gptq8");
}

/* MLX packs every matrix in groups of 64 unless it says otherwise, or as its mode's name says. */
static void read_mlx(gp_config_reader *settings, double bits, double group, gp_quantization *to) {
    const char *mode = text_of(settings, "mode");
    gp_text_copy(to->method, sizeof to->method, "mlx", 3);
    if (mode[0] != '\0' && strcmp(mode, "affine") != 0) gp_text_join(to->format, sizeof to->format, "mlx:", mode);
    else snprintf(to->format, sizeof to->format, "mlx:q%.4g-g%.4g", bits, group > 0 ? group : 64);
    /* Layers with settings of their own stand beside these, by their names. */
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, settings->object) {
        if (!cJSON_IsObject(member)) continue;
        several(settings, member->string, to->format);
        break;
    }
    /* MLX itself writes its group; bits alone might be of any method. */
    if (group == GROUP_ABSENT && mode[0] == '\0') not_told(settings, settings->path, to->format);
}

/* A packed output matrix, which no format here counts: GPTQ's "lm_head", and ExLlama's "head_bits". */
static void check_head(gp_config_reader *settings) {
    const char *key = gp_config_switch(settings, "lm_head", false) ? "lm_head" : "head_bits";
    bool packed = strcmp(key, "lm_head") == 0 || bits_of(settings, key) > 0;
    if (packed && settings->usable) gp_argue_text(gp_config_note(settings, GP_CODE_HEAD_UNPACKED, key), "what", key);
}

/* ExLlama's methods take any average, MLX states only bits and group. */
static void read_method(gp_config_reader *settings, const char *method, const char *algorithm, gp_quantization *to) {
    double bits = bits_of(settings, gp_config_item(settings, "w_bit") != NULL ? "w_bit" : "bits");
    double group = group_of(settings);
    bool gptq = holds(method, "gptq"), average = strcmp(method, "exl2") == 0 || strcmp(method, "exl3") == 0;
    const char *name = method[0] != '\0' ? method : algorithm;
    gp_text_copy(to->method, sizeof to->method, name, strlen(name));
    to->bits = bits;
    if (gptq || average) {
        require(settings, "bits");
        check_head(settings);
    }
    if (gptq || holds(method, "auto-round")) {
        read_zero_points(bits, group, "gptq", to);
    } else if (strcmp(method, "awq") == 0) {
        read_zero_points(bits, group, "awq", to);
    } else if (average) {
        snprintf(to->format, sizeof to->format, "%s:%.4g", method, bits);
    } else if (holds(name, "mxfp4")) {
        set_format(to, "mxfp4");
    } else if (holds(name, "nvfp4") || holds(algorithm, "nvfp4")) {
        set_format(to, "nvfp4");
    } else if (holds(name, "fp8") || holds(algorithm, "fp8")) {
        set_fp8(settings, to);
    } else if (gp_config_item(settings, "config_groups") != NULL) {
        read_groups(settings, to);
    } else if (strcmp(method, "hqq") == 0) {
        read_hqq(settings, to);
    } else if (name[0] == '\0' && bits > 0) {
        read_mlx(settings, bits, group, to);
    } else {
        read_words(settings, method, to);
    }
}

/* True for settings that say how the weights are packed; false when they say nothing, or that they are not. */
static bool read_settings(gp_config_reader *settings, gp_quantization *to) {
    static const char *const telling[] = {"bits", "w_bit", "config_groups"};
    const char *method = text_of(settings, "quant_method"), *algorithm = text_of(settings, "quant_algo");
    bool eight = gp_config_switch(settings, "load_in_8bit", false) || gp_config_switch(settings, "_load_in_8bit", false);
    bool four = gp_config_switch(settings, "load_in_4bit", false) || gp_config_switch(settings, "_load_in_4bit", false);
    if (strcmp(method, "bitsandbytes") == 0 || (method[0] == '\0' && (four || eight))) {
        gp_text_copy(to->method, sizeof to->method, "bitsandbytes", 12);
        read_bitsandbytes(settings, four, to);
        if (four && eight) several(settings, "load_in_8bit", to->format);
        return four || eight;
    }
    /* Mistral's params.json. */
    if (algorithm[0] == '\0') algorithm = text_of(settings, "qformat_weight");
    bool told = method[0] != '\0' || algorithm[0] != '\0';
    for (size_t i = 0; i < sizeof telling / sizeof telling[0]; i++)
        told = told || gp_config_item(settings, telling[i]) != NULL;
    if (told) read_method(settings, method, algorithm, to);
    return told;
}

/* ---- Where it is said -------------------------------------------------------------------------------------------- */

static const char *const inner[] = {"text_config", "llm_config", "language_config", "thinker_config"};
enum { INNER_COUNT = sizeof inner / sizeof inner[0] };

/* Reader of the settings in `around`; false when there are none. */
static bool find_beside(gp_config_reader *around, char *path, gp_config_reader *settings) {
    static const char *const keys[] = {"quantization_config", "compression_config", "quantization"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (gp_config_item(around, keys[i]) == NULL) continue;
        *settings = gp_config_inside(around, keys[i], path);
        return true;
    }
    return false;
}

/* In the config, or in the text model inside one for several kinds of input. */
static bool find_settings(gp_config_reader *outer, char paths[2][GP_PATH_BYTES], gp_config_reader *settings) {
    if (find_beside(outer, paths[0], settings)) return true;
    for (int i = 0; i < INNER_COUNT; i++) {
        if (!cJSON_IsObject(gp_config_item(outer, inner[i]))) continue;
        gp_config_reader part = gp_config_inside(outer, inner[i], paths[1]);
        if (find_beside(&part, paths[0], settings)) return true;
    }
    return false;
}

/* The type of weights that are not packed: under its newer or its older name. */
static void read_dtype(gp_config_reader *outer, gp_quantization *to) {
    static const char *const keys[] = {"dtype", "torch_dtype"};
    for (size_t i = 0; i < 2 && to->format[0] == '\0'; i++) {
        const cJSON *type = gp_config_item(outer, keys[i]);
        for (int k = 0; type == NULL && k < INNER_COUNT; k++)
            type = cJSON_GetObjectItemCaseSensitive(gp_config_item(outer, inner[k]), keys[i]);
        if (type == NULL || cJSON_IsNull(type)) continue;
        if (cJSON_IsString(type)) set_format(to, gp_format_of_dtype(type->valuestring));
        bool open = cJSON_IsString(type) && strcmp(type->valuestring, "auto") == 0;
        if (to->format[0] == '\0' && !open) not_told(outer, keys[i], "bf16");
    }
    to->stated = to->format[0] != '\0';
    if (!to->stated) set_format(to, "bf16");
}

/* Routed experts may be in fewer bits than the settings say (DeepSeek-V4). */
static void read_experts(gp_config_reader *outer, gp_quantization *to) {
    const char *type = gp_config_text(outer, "expert_dtype");
    if (type != NULL && strcmp(type, "fp4") == 0 && strncmp(to->format, "fp8", 3) == 0) set_format(to, "mxfp4-fp8");
}

/* MLX writes its settings twice; two that differ are of two methods, and the first of find_beside counts. */
static bool says_otherwise(const gp_config_reader *outer) {
    const cJSON *first = gp_config_item(outer, "quantization_config"), *second = gp_config_item(outer, "quantization");
    return first != NULL && cJSON_IsObject(second) && !cJSON_Compare(first, second, true);
}

/* Layers of the model, 0 when the config does not say. */
static int64_t layers_of(const gp_config_reader *outer) {
    const char *key = "num_hidden_layers";
    const cJSON *layers = gp_config_item(outer, key);
    for (int i = 0; i < INNER_COUNT && layers == NULL; i++)
        layers = cJSON_GetObjectItemCaseSensitive(gp_config_item(outer, inner[i]), key);
    bool known = cJSON_IsNumber(layers) && layers->valuedouble >= 1 && layers->valuedouble <= GP_DIMENSION_MAX;
    return known ? (int64_t)layers->valuedouble : 0;
}

bool gp_quantization_packs_experts(const gp_quantization *stored, const gp_shape *shape) {
    unsigned beside = GP_SKIPS_ATTENTION | (shape->experts.shared_ffn > 0 ? GP_SKIPS_SHARED : 0);
    for (int i = 0; i < shape->kind_count || i == 0; i++) {
        gp_feed_forward block = shape->kinds[i].feed_forward;
        if (block == GP_FFN_DENSE || block == GP_FFN_MOE_BESIDE_DENSE) beside |= GP_SKIPS_DENSE;
    }
    return shape->experts.count > 0 && (stored->skips & (beside | GP_SKIPS_OTHER)) == beside;
}

void gp_quantization_read(const cJSON *config, gp_quantization *to, gp_diagnostics *faults) {
    char paths[3][GP_PATH_BYTES];
    gp_config_reader outer = {config, "", faults, true, false}, settings;
    *to = (gp_quantization){.stated = true};
    if (find_settings(&outer, paths, &settings)) {
        /* The producer's own file, as it is or inside (modelopt). */
        if (cJSON_IsObject(gp_config_item(&settings, "quantization")))
            settings = gp_config_inside(&settings, "quantization", paths[2]);
        bool told = settings.object == NULL || read_settings(&settings, to) || gp_has_errors(faults);
        if (told) {
            read_experts(&outer, to);
            gp_text_copy(to->path, sizeof to->path, settings.path, strlen(settings.path));
            if (settings.object != NULL) gp_quantization_skips(&settings, layers_of(&outer), to);
            if (says_otherwise(&outer)) several(&outer, "quantization", to->format);
            return;
        }
        *to = (gp_quantization){.stated = true};
        not_told(&outer, settings.path, "bf16");
    }
    read_dtype(&outer, to);
}

void gp_quantization_label(gp_quantization *stored) {
    gp_format scratch;
    char bits[GP_METHOD_BYTES] = "";
    if (stored->format[0] != '\0') return;
    if (stored->bits > 0) snprintf(bits, sizeof bits, "-%.4gbit", stored->bits);
    gp_text_join(stored->format, sizeof stored->format, stored->method, bits);
    if (gp_format_find(stored->format, &scratch) == NULL) return;
    gp_text_join(stored->format, sizeof stored->format, stored->method, "-other");
}
