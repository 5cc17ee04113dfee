/* The lists of modules that are not packed, as far as formats can tell them apart. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cJSON.h"
#include "config/quantization_skips.h"

/* Matrices on the way in and out of a block; a module named as a whole has both. */
enum { WAY_IN = 1, WAY_OUT = 2, WHOLE = WAY_IN | WAY_OUT };
enum { KIND_ATTENTION, KIND_SHARED, KIND_DENSE, KIND_COUNT, KIND_FREE, KIND_OTHER };
enum { LAYERS_MAX = 256, DIGITS_MAX = 6 };

typedef struct {
    int64_t layers; /* of the model, 0 = not known */
    unsigned char ways[KIND_COUNT][LAYERS_MAX], ways_of_all[KIND_COUNT];
    bool named[KIND_COUNT];
} seen_modules;

static bool has(const char *text, const char *word) {
    return gp_contains_folded(text, strlen(text), word, strlen(word));
}

static bool has_any(const char *text, const char *const *words) {
    for (; *words != NULL; words++) {
        if (has(text, *words)) return true;
    }
    return false;
}

static int ways_of(const char *text, const char *const *in, const char *const *out) {
    if (!has(text, "proj")) return WHOLE;
    return (has_any(text, in) ? WAY_IN : 0) | (has_any(text, out) ? WAY_OUT : 0);
}

/* Parts that no format packs, or of a few columns: their bits are the same whether they are named or not. */
static bool is_free(const char *text) {
    static const char *const words[] = {"lm_head", "embed", "norm", "router", "vision", "visual", "multi_modal", "mm_",
        "projector", "audio", "e_score", "mtp", "eh_proj", "conv1d", "a_log", "dt_bias", "rotary", "weights_proj",
        "indexers_proj", "in_proj_a", "in_proj_b", NULL};
    /* One of several names in a pattern says nothing of the others. */
    if (has(text, "|")) return false;
    return has_any(text, words) || (has(text, "gate") && !has(text, "proj") && !has(text, "gate_up"));
}

static int kind_of(const char *text, int *ways) {
    static const char *const attention[] = {"attn", "attention", "q_proj", "k_proj", "v_proj", "o_proj", "q_a_proj", NULL};
    static const char *const queries[] = {"q_proj", "q_a_proj", "q_b_proj", "qkv", NULL};
    static const char *const output[] = {"o_proj", "out_proj", NULL}, *const gates[] = {"gate", "up", NULL};
    static const char *const shared[] = {"shared_expert", "shared_mlp", NULL}, *const down[] = {"down", NULL};
    if (is_free(text)) return KIND_FREE;
    bool attends = has_any(text, attention);
    *ways = attends ? ways_of(text, queries, output) : ways_of(text, gates, down);
    if (attends) return KIND_ATTENTION;
    if (has_any(text, shared)) return KIND_SHARED;
    bool block = (has(text, "mlp") || has(text, "feed_forward")) && has(text, "proj") && !has(text, "expert");
    return block ? KIND_DENSE : KIND_OTHER;
}

/* Layer that a module's name tells ("model.layers.3.mlp"), -1 for a pattern that holds for all. */
static int64_t layer_of(const char *text) {
    const char *at = strstr(text, "layers");
    if (at == NULL) return -1;
    at += strlen("layers");
    while (*at == '.' || *at == '\\') at++;
    if (!gp_is_digit(*at)) return -1;
    int64_t layer = 0;
    for (int digits = 0; gp_is_digit(*at) && digits < DIGITS_MAX; at++, digits++) layer = 10 * layer + (*at - '0');
    return layer;
}

/* False for a name that is of no kind. */
static bool take_module(seen_modules *seen, const char *text) {
    int ways = 0, kind = kind_of(text, &ways);
    int64_t layer = layer_of(text);
    bool prediction = seen->layers > 0 && layer >= seen->layers;
    if (kind == KIND_FREE || prediction) return true;
    if (kind == KIND_OTHER || layer >= LAYERS_MAX) return false;
    seen->named[kind] = true;
    if (layer < 0) seen->ways_of_all[kind] |= (unsigned char)ways;
    else seen->ways[kind][layer] |= (unsigned char)ways;
    return true;
}

static bool is_complete(const seen_modules *seen, int kind) {
    int64_t layers = seen->layers < LAYERS_MAX ? seen->layers : LAYERS_MAX;
    if (seen->ways_of_all[kind] == WHOLE) return true;
    for (int64_t i = 0; i < layers; i++) {
        if ((seen->ways[kind][i] | seen->ways_of_all[kind]) != WHOLE) return false;
    }
    return layers > 0;
}

static void set_example(gp_quantization *to, const char *key, const char *text) {
    if (to->skips_example[0] != '\0') return;
    gp_text_copy(to->skips_key, sizeof to->skips_key, key, strlen(key));
    gp_text_copy(to->skips_example, sizeof to->skips_example, text, strlen(text));
}

static void take_list(seen_modules *seen, const char *key, const cJSON *list, gp_quantization *to) {
    const cJSON *entry = NULL;
    bool told = false;
    cJSON_ArrayForEach(entry, list) {
        if (!cJSON_IsString(entry) || entry->valuestring[0] == '\0') continue;
        int ways;
        if (kind_of(entry->valuestring, &ways) != KIND_FREE && !told) {
            set_example(to, key, entry->valuestring);
            told = true;
        }
        if (take_module(seen, entry->valuestring)) continue;
        to->skips |= GP_SKIPS_OTHER;
    }
}

void gp_quantization_skips(const gp_config_reader *settings, int64_t layers, gp_quantization *to) {
    static const char *const keys[] = {"ignore", "modules_to_not_convert", "exclude_modules", "exclude", "llm_int8_skip_modules"};
    static const unsigned bits[KIND_COUNT] = {GP_SKIPS_ATTENTION, GP_SKIPS_SHARED, GP_SKIPS_DENSE};
    seen_modules *seen = calloc(1, sizeof *seen);
    if (seen == NULL) {
        gp_diagnose(settings->diagnostics, GP_CODE_OUT_OF_MEMORY, "");
        return;
    }
    seen->layers = layers;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const cJSON *list = gp_config_item(settings, keys[i]);
        if (cJSON_IsArray(list)) take_list(seen, keys[i], list, to);
    }
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        if (seen->named[kind]) to->skips |= is_complete(seen, kind) ? bits[kind] : GP_SKIPS_OTHER;
    }
    free(seen);
}

void gp_quantization_targets(const cJSON *targets, gp_quantization *to) {
    const cJSON *target = NULL;
    bool linear = false, experts = true;
    const char *example = "";
    cJSON_ArrayForEach(target, targets) {
        if (!cJSON_IsString(target)) continue;
        linear = linear || strcmp(target->valuestring, "Linear") == 0;
        experts = experts && has(target->valuestring, "expert") && !has(target->valuestring, "shared");
        if (example[0] == '\0') example = target->valuestring;
    }
    if (linear || example[0] == '\0') return;
    set_example(to, "config_groups", example);
    to->skips |= experts ? GP_SKIPS_ATTENTION | GP_SKIPS_SHARED | GP_SKIPS_DENSE : GP_SKIPS_OTHER;
}
