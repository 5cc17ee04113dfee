/* Explicit shapes with experts or latent attention. */
#include <math.h>
#include <string.h>

#include "cJSON.h"
#include "model/model_shapes.h"
#include "base/text.h"

static void note_structure(gp_diagnostics *diagnostics, const char *path, const char *what, const char *value,
                           const gp_shape *shape) {
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_STRUCTURE_CHOSEN, path);
    gp_argue_text(row, "what", what);
    gp_argue_text(row, "value", value);
    gp_argue_number(row, "params", gp_shape_params(shape));
}

/* ---- A row of the catalogue ---- */

static bool same_or_open(int64_t stated, int64_t value) {
    return stated == 0 || stated == value;
}

static bool same_dimensions(const gp_model_request *request, const gp_shape *shape) {
    bool latent = shape->latent.kv_lora > 0;
    const gp_moe_request *moe = &request->moe;
    bool experts = moe->experts == shape->experts.count && same_or_open(moe->topk, shape->experts.topk) &&
                   same_or_open(moe->ffn, shape->experts.ffn);
    return latent == gp_request_is_latent(request) && experts && request->layers == shape->layers &&
           request->hidden == shape->hidden && same_or_open(request->heads, shape->heads) &&
           same_or_open(request->ffn, shape->ffn) &&
           (latent || same_or_open(request->kv_heads, shape->kv_heads)) &&
           (latent || same_or_open(request->head_dim, shape->head_dim));
}

bool gp_shape_of_catalogue(const gp_model_request *request, gp_shape *shape, gp_diagnostics *diagnostics) {
    for (int i = 0; i < gp_catalog_model_count(); i++) {
        gp_model_row row;
        gp_shape known;
        gp_catalog_model(i, &row);
        gp_catalog_shape(&row, &known);
        if (!same_dimensions(request, &known)) continue;
        known.vision_params = known.audio_params = 0;
        known.mtp_counted = false;
        if (request->vocab > 0) known.vocab = request->vocab;
        if (request->tied_embeddings >= 0) known.tied_embeddings = request->tied_embeddings != 0;
        double off = fabs(gp_shape_params(&known) - request->params);
        if (request->params > 0 && off > 0.02 * request->params) continue;
        *shape = known;
        note_structure(diagnostics, "model", "structure", row.id, shape);
        return true;
    }
    return false;
}

/* ---- Experts ---- */

/* Megatron's --moe-layer-freq as a Python list: "([0]*3+[1]*11)". Fills `moe` up to `count` and returns how many layers
 * the text describes, 0 when it is none. */
static int64_t read_frequency_text(const char *text, bool *moe, int64_t count) {
    int64_t layer = 0;
    while (*text != '\0') {
        if (*text != '[') {
            text++;
            continue;
        }
        bool has = false;
        int64_t times = 1, first = layer;
        for (text++; *text != '\0' && *text != ']'; text++) {
            if (!gp_is_digit(*text)) continue;
            has = *text != '0';
            if (layer < count) moe[layer] = has;
            layer++;
        }
        if (text[0] == ']' && text[1] == '*') {
            times = 0;
            for (text += 2; gp_is_digit(*text) && times < GP_MAPPED_LAYERS; text++) times = 10 * times + (*text - '0');
        } else if (*text == ']') {
            text++;
        }
        int64_t pattern = layer - first;
        layer = first + pattern * times;
        for (int64_t i = first + pattern; i < layer && i < count; i++) moe[i] = moe[i - pattern];
    }
    return layer;
}

/* A list, a text, or a number n: experts in every n-th layer, the first included. Returns how many layers it describes. */
static int64_t read_frequency(const cJSON *frequency, bool *moe, int64_t count) {
    if (cJSON_IsString(frequency)) return read_frequency_text(frequency->valuestring, moe, count);
    if (cJSON_IsArray(frequency)) {
        const cJSON *one = NULL;
        int64_t layer = 0;
        cJSON_ArrayForEach(one, frequency) {
            if (layer < count) moe[layer] = cJSON_IsNumber(one) && one->valuedouble > 0;
            layer++;
        }
        return layer;
    }
    if (!cJSON_IsNumber(frequency) || !(frequency->valuedouble >= 1 && frequency->valuedouble < GP_MAPPED_LAYERS)) return 0;
    int64_t step = (int64_t)frequency->valuedouble;
    for (int64_t i = 0; i < count; i++) moe[i] = i % step == 0;
    return count;
}

/* Which layers have experts: all but the first dense_layers; with `interleave` n, the last of every n. Returns how many
 * layers the request describes. */
static int64_t place_experts(const gp_moe_request *request, bool *moe, int64_t count) {
    int64_t step = request->interleave > 1 ? request->interleave : 1;
    for (int64_t i = 0; i < count; i++) moe[i] = i >= request->dense_layers && (i + 1) % step == 0;
    return request->layer_freq != NULL ? read_frequency(request->layer_freq, moe, count) : count;
}

/* Returns how many more layers the request describes than there are: 0 when it is about this model. */
static int64_t set_kinds(const gp_moe_request *request, bool has_moe, gp_attention attention, gp_shape *shape) {
    bool moe[GP_MAPPED_LAYERS] = {false};
    int64_t count = shape->layers < GP_MAPPED_LAYERS ? shape->layers : GP_MAPPED_LAYERS;
    int64_t described = has_moe ? place_experts(request, moe, count) : count;
    int first = -1;
    shape->kind_count = 0;
    memset(shape->kinds, 0, sizeof shape->kinds);
    for (int64_t i = 0; i < count; i++) {
        int kind = first < 0 || moe[i] == moe[0] ? 0 : 1;
        if (kind == shape->kind_count) {
            gp_feed_forward ffn = moe[i] ? GP_FFN_MOE : GP_FFN_DENSE;
            shape->kinds[shape->kind_count++] = (gp_layer_kind){.attention = attention, .feed_forward = ffn};
        }
        first = 0;
        shape->kind_of[i] = (uint8_t)kind;
    }
    return described - count;
}

static bool refuse(gp_diagnostics *diagnostics, gp_code code, const char *path, const char *what, double value) {
    gp_diagnostic *row = gp_diagnose(diagnostics, code, path);
    gp_argue_text(row, "what", what);
    if (code == GP_CODE_INCONSISTENT_MODEL) gp_argue_number(row, "value", value);
    return false;
}

static bool take_experts(const gp_model_request *request, gp_shape *shape, gp_diagnostics *diagnostics) {
    const gp_moe_request *moe = &request->moe;
    gp_experts *experts = &shape->experts;
    if (moe->experts == 0) return refuse(diagnostics, GP_CODE_INCOMPLETE_MODEL, "model.moe", "experts", 0);
    if (moe->topk == 0) return refuse(diagnostics, GP_CODE_INCOMPLETE_MODEL, "model.moe", "topk", 0);
    if (moe->ffn == 0 && shape->ffn == 0) {
        return refuse(diagnostics, GP_CODE_INCOMPLETE_MODEL, "model.moe", "ffn", 0);
    }
    if (moe->topk > moe->experts) {
        return refuse(diagnostics, GP_CODE_INCONSISTENT_MODEL, "model.moe.topk", "topk", (double)moe->topk);
    }
    /* Experts that no layer has. */
    if (request->layers > 0 && moe->dense_layers >= request->layers)
        return refuse(diagnostics, GP_CODE_INCONSISTENT_MODEL, "model.moe.dense_layers", "dense_layers", (double)moe->dense_layers);
    if (request->layers > 0 && moe->interleave > request->layers)
        return refuse(diagnostics, GP_CODE_INCONSISTENT_MODEL, "model.moe.interleave", "interleave", (double)moe->interleave);
    experts->count = moe->experts;
    experts->topk = moe->topk;
    experts->ffn = moe->ffn > 0 ? moe->ffn : shape->ffn;
    if (shape->ffn == 0) shape->ffn = experts->ffn;
    int64_t shared = moe->shared < 4096 ? moe->shared : 4096;
    experts->shared_ffn = moe->shared_ffn > 0 ? moe->shared_ffn : shared * experts->ffn;
    experts->correction_bias = gp_request_is_latent(request);
    if (shape->layers <= GP_MAPPED_LAYERS) return true;
    return refuse(diagnostics, GP_CODE_INCONSISTENT_MODEL, "model.layers", "layers", (double)shape->layers);
}

/* ---- Latent attention ---- */

/* DeepSeek-V2, arXiv:2405.04434, section 3.1.2; its Lite member (appendix B) has no query latent. The one whose count
 * is nearer to the stated, else by width. */
static void take_latent(const gp_model_request *request, gp_shape *shape) {
    shape->latent = (gp_latent){.q_lora = 1536, .kv_lora = 512, .nope = 128, .rope = 64, .value = 128};
    shape->head_dim = shape->latent.nope + shape->latent.rope;
    shape->kv_heads = shape->heads;
    if (request->params <= 0) {
        if (shape->hidden < 4096) shape->latent.q_lora = 0;
        return;
    }
    gp_shape plain = *shape;
    plain.norm = GP_NORM_RMS;
    plain.gated_ffn = true;
    plain.norms_per_layer = 2;
    double with = fabs(gp_shape_params(&plain) - request->params);
    plain.latent.q_lora = 0;
    if (fabs(gp_shape_params(&plain) - request->params) < with) shape->latent.q_lora = 0;
}

bool gp_shape_take_sparse(const gp_model_request *request, gp_shape *shape, gp_diagnostics *diagnostics) {
    bool latent = gp_request_is_latent(request);
    if (request->has_moe && !take_experts(request, shape, diagnostics)) return false;
    int64_t beyond = set_kinds(&request->moe, request->has_moe, latent ? GP_ATTENTION_LATENT : GP_ATTENTION_FULL, shape);
    if (beyond != 0)
        return refuse(diagnostics, GP_CODE_INCONSISTENT_MODEL, "model.moe.layer_freq", "layer_freq", (double)(shape->layers + beyond));
    if (!latent) return true;
    take_latent(request, shape);
    note_structure(diagnostics, "model.attention", "attention",
                   shape->latent.q_lora > 0 ? "q_lora 1536, kv_lora 512, 128 + 64, 128" : "kv_lora 512, 128 + 64, 128",
                   shape);
    return true;
}
