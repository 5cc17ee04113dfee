#include "model/model_shapes.h"

#include <math.h>
#include <string.h>

#include "config/config.h"
#include "base/text.h"

enum { LARGEST_HEAD = 128, DEFAULT_POSITIONS = 2048 };

bool gp_request_is_name(const gp_model_request *request) {
    const gp_model_request *r = request;
    bool sized = r->params > 0 || r->params_max || r->layers > 0 || r->hidden > 0 || r->heads > 0 || r->kv_heads > 0 ||
                 r->head_dim > 0 || r->ffn > 0 || r->vocab > 0;
    return r->name[0] != '\0' && !sized && !r->has_moe && r->style[0] == '\0' && r->attention[0] == '\0';
}

double gp_shape_params(const gp_shape *shape) {
    gp_model model;
    gp_shape_copy(&model.shape, shape);
    gp_model_count(NULL, &model);
    return (double)model.total_params;
}

void gp_shape_fit_ffn(gp_shape *shape, double params) {
    shape->ffn = 1;
    double narrowest = gp_shape_params(shape);
    shape->ffn = 2;
    double step = gp_shape_params(shape) - narrowest;
    double ffn = floor(1.5 + (params - narrowest) / step);
    shape->ffn = ffn < 1 ? 1 : ffn > (double)GP_DIMENSION_MAX ? GP_DIMENSION_MAX : (int64_t)ffn;
}

/* ---- Dimensions ---- */

typedef struct {
    const gp_model_request *request;
    gp_shape *shape;
    gp_diagnostics *diagnostics;
    const gp_shape_use *use;
    bool scaled; /* the size alone decides: one note for all dimensions */
} filler;

static void note(filler *fill, gp_code code, const char *path, int64_t value, const char *from) {
    if (fill->scaled) return;
    gp_diagnostic *row = gp_diagnose(fill->diagnostics, code, path);
    gp_argue_number(row, "value", (double)value);
    if (from != NULL) gp_argue_text(row, "from", from);
}

static bool refuse(filler *fill, gp_code code, const char *path, const char *what, double value) {
    gp_diagnostic *row = gp_diagnose(fill->diagnostics, code, path);
    gp_argue_text(row, "what", what);
    if (code == GP_CODE_INCONSISTENT_MODEL) gp_argue_number(row, "value", value);
    return false;
}

static int64_t stated_kv_heads(const gp_model_request *request) {
    bool multi_query = gp_text_is_folded("MQA", request->attention, strlen(request->attention));
    return request->kv_heads > 0 ? request->kv_heads : multi_query ? 1 : 0;
}

/* Experts are counted apart from the dense family whose width and depth they are given. */
static void scale(const filler *fill, gp_shape *nearest) {
    const gp_model_request *request = fill->request;
    gp_family family = {.layers = request->layers, .hidden = request->hidden, .heads = request->heads,
                        .kv_heads = stated_kv_heads(request), .head_dim = request->head_dim,
                        .ffn = request->has_moe ? 0 : request->ffn, .vocab = request->vocab,
                        .divisor = fill->use->tensor_ranks, .least_layers = fill->use->stages};
    gp_model_scaled(request->params, &family, nearest);
}

static bool fill_size(filler *fill) {
    const gp_model_request *request = fill->request;
    gp_shape *shape = fill->shape, family;
    shape->layers = request->layers;
    shape->hidden = request->hidden;
    if (shape->layers > 0 && shape->hidden > 0) return true;
    if (request->params <= 0 && !request->params_max) {
        const char *what = shape->layers > 0 ? "hidden" : "layers";
        return refuse(fill, GP_CODE_INCOMPLETE_MODEL, "model", what, 0);
    }
    scale(fill, &family);
    fill->scaled = shape->layers == 0 && shape->hidden == 0;
    if (shape->layers == 0) {
        shape->layers = family.layers;
        note(fill, GP_CODE_DERIVED_VALUE, "model.layers", shape->layers, "model.params");
    }
    if (shape->hidden == 0) {
        shape->hidden = family.hidden;
        note(fill, GP_CODE_DERIVED_VALUE, "model.hidden", shape->hidden, "model.params");
    }
    return true;
}

static int64_t largest_head(int64_t hidden) {
    int64_t size = LARGEST_HEAD;
    while (hidden % size != 0) size--;
    return size;
}

static bool fill_heads(filler *fill) {
    const gp_model_request *request = fill->request;
    gp_shape *shape = fill->shape;
    shape->heads = request->heads;
    shape->head_dim = request->head_dim;
    if (shape->heads == 0) {
        int64_t size = shape->head_dim > 0 ? shape->head_dim : largest_head(shape->hidden);
        if (shape->hidden % size != 0) {
            return refuse(fill, GP_CODE_INCONSISTENT_MODEL, "model.head_dim", "head_dim", (double)size);
        }
        shape->heads = shape->hidden / size;
        note(fill, GP_CODE_DERIVED_VALUE, "model.heads", shape->heads, "model.hidden");
    }
    if (shape->head_dim == 0) {
        if (shape->hidden % shape->heads != 0) {
            return refuse(fill, GP_CODE_INCONSISTENT_MODEL, "model.heads", "heads", (double)shape->heads);
        }
        shape->head_dim = shape->hidden / shape->heads;
    }
    int64_t kv_heads = stated_kv_heads(request);
    shape->kv_heads = kv_heads > 0 ? kv_heads : shape->heads;
    if (request->kv_heads == 0) note(fill, GP_CODE_DERIVED_VALUE, "model.kv_heads", shape->kv_heads, "model.heads");
    if (shape->heads % shape->kv_heads == 0) return true;
    return refuse(fill, GP_CODE_INCONSISTENT_MODEL, "model.kv_heads", "kv_heads", (double)shape->kv_heads);
}

static void fill_rest(filler *fill) {
    fill->shape->ffn = fill->request->ffn;
    fill->shape->max_context = fill->request->positions;
    fill->shape->vocab = fill->request->vocab;
    if (fill->shape->vocab > 0) return;
    fill->shape->vocab = GP_VOCAB_DEFAULT;
    note(fill, GP_CODE_DEFAULT_VALUE, "model.vocab", GP_VOCAB_DEFAULT, NULL);
}

/* ---- Structure ---- */

/* Common structures, the most common first. `bias` covers every matrix, `qkv_bias` those of q, k and v. A table of
 * learned positions has as many rows as the request says, else as the sequence trained on, or 2048. */
typedef enum { NOT_LEARNED, LEARNED_SEQUENCE, LEARNED_2048 } learned;
typedef struct {
    const char *model_type;
    gp_norm norm;
    bool gated, qkv_bias, bias, qk_norm;
    learned positions;
    bool expert_bias; /* biases of experts and router, sinks: for mixtures alone */
} structure;

static const structure structures[] = {
    {"llama", GP_NORM_RMS, true, false, false, false, NOT_LEARNED, false},
    {"qwen2", GP_NORM_RMS, true, true, false, false, NOT_LEARNED, false},
    {"qwen3", GP_NORM_RMS, true, false, false, true, NOT_LEARNED, false},
    {"gpt2", GP_NORM_LAYER, false, true, true, false, LEARNED_SEQUENCE, false},
    {"gpt2", GP_NORM_LAYER, false, true, true, false, LEARNED_2048, false},
    {"gpt_neox", GP_NORM_LAYER, false, true, true, false, NOT_LEARNED, false},
    {"mpt", GP_NORM_LAYER_NO_BIAS, false, false, false, false, LEARNED_SEQUENCE, false},
    {"mpt", GP_NORM_LAYER_NO_BIAS, false, false, false, false, NOT_LEARNED, false},
    {"gpt_oss", GP_NORM_RMS, true, true, true, false, NOT_LEARNED, true},
};
enum { STRUCTURE_COUNT = sizeof structures / sizeof structures[0], GPT_BLOCK = 3 };

static bool agrees(int stated, bool value) {
    return stated < 0 || (stated != 0) == value;
}

static bool is_allowed(const structure *candidate, const gp_model_request *request) {
    if (candidate->expert_bias && !request->has_moe) return false;
    return agrees(request->gated_ffn, candidate->gated) && agrees(request->bias, candidate->bias) &&
           agrees(request->qkv_bias, candidate->qkv_bias) && agrees(request->qk_norm, candidate->qk_norm);
}

static void take_stated(const gp_model_request *request, gp_shape *shape) {
    if (request->gated_ffn >= 0) shape->gated_ffn = request->gated_ffn != 0;
    if (request->bias >= 0) shape->qkv_bias = shape->output_bias = shape->ffn_bias = request->bias != 0;
    if (request->qkv_bias >= 0) shape->qkv_bias = request->qkv_bias != 0;
    if (request->qk_norm >= 0) shape->qk_norm = request->qk_norm != 0;
    if (request->tied_embeddings >= 0) shape->tied_embeddings = request->tied_embeddings != 0;
}

static int64_t positions_of(const filler *fill, learned kind) {
    if (kind == NOT_LEARNED) return 0;
    if (fill->request->positions > 0) return fill->request->positions;
    return kind == LEARNED_SEQUENCE && fill->use->sequence > 0 ? fill->use->sequence : DEFAULT_POSITIONS;
}

static gp_shape with_structure(const filler *fill, const structure *candidate, bool tied) {
    gp_shape shape;
    gp_shape_copy(&shape, fill->shape);
    shape.norm = candidate->norm;
    shape.norms_per_layer = 2;
    shape.final_norm = true;
    shape.gated_ffn = candidate->gated;
    shape.qkv_bias = candidate->qkv_bias;
    shape.output_bias = shape.ffn_bias = candidate->bias;
    shape.qk_norm = candidate->qk_norm;
    shape.experts.bias = shape.experts.router_bias = shape.sinks = candidate->expert_bias;
    shape.tied_embeddings = tied;
    shape.model_type = candidate->model_type;
    shape.code = gp_config_code(candidate->model_type);
    shape.learned_positions = positions_of(fill, candidate->positions);
    take_stated(fill->request, &shape);
    double params = fill->request->params;
    if (shape.ffn == 0 && (params > 0 || fill->request->params_max)) {
        gp_shape_fit_ffn(&shape, params);
    } else if (shape.ffn == 0) {
        shape.ffn = shape.gated_ffn ? ((8 * shape.hidden + 2) / 3 + 255) / 256 * 256 : 4 * shape.hidden;
    }
    return shape;
}

/* How far a count may be off and still be the stated one: half a unit of the last digit that a rounded figure states
 * (5e6 for 8.03e9), at most 0.25 %. */
static double rounding_of(double params) {
    double unit = 1;
    while (unit < 1e15 && floor(params / (unit * 10)) * (unit * 10) == params) unit *= 10;
    return fmin(unit / 2, 0.0025 * params);
}

/* The first structure whose count is the stated one. If none is, the nearest, where a rarer structure must be nearer by
 * 0.2 % of the count: figures that are rounded that far do not tell biases apart. */
static gp_shape nearest_structure(const filler *fill) {
    const gp_model_request *request = fill->request;
    double params = request->params, rounding = rounding_of(params), smallest = INFINITY;
    bool any = false;
    /* An open ffn comes as near as one column lets it. */
    if (request->ffn == 0 && !request->has_moe)
        rounding = fmax(rounding, 1.5 * (double)fill->shape->hidden * (double)fill->shape->layers);
    for (int i = 0; i < STRUCTURE_COUNT; i++) any = any || is_allowed(&structures[i], request);
    gp_shape best = with_structure(fill, &structures[0], false);
    for (int i = 0; i < STRUCTURE_COUNT && smallest > rounding; i++) {
        if (any ? !is_allowed(&structures[i], request) : structures[i].expert_bias) continue;
        for (int tied = 0; tied <= 1 && smallest > rounding; tied++) {
            if (!agrees(request->tied_embeddings, tied != 0)) continue;
            gp_shape shape = with_structure(fill, &structures[i], tied != 0);
            double distance = fabs(gp_shape_params(&shape) - params);
            if (distance > rounding && distance >= smallest - 0.002 * params) continue;
            smallest = distance;
            best = shape;
        }
    }
    return best;
}

/* Without a count the dimensions must tell. */
static gp_shape usual_structure(const filler *fill) {
    const gp_shape *shape = fill->shape;
    bool gpt = shape->ffn == 4 * shape->hidden && shape->kv_heads == shape->heads;
    if (fill->request->has_moe) gpt = false;
    if (fill->request->gated_ffn >= 0) gpt = fill->request->gated_ffn == 0;
    return with_structure(fill, &structures[gpt ? GPT_BLOCK : 0], false);
}

static void note_structure(filler *fill, const char *path, const char *what, const char *value) {
    gp_diagnostic *row = gp_diagnose(fill->diagnostics, GP_CODE_STRUCTURE_CHOSEN, path);
    gp_argue_text(row, "what", what);
    gp_argue_text(row, "value", value);
    gp_argue_number(row, "params", gp_shape_params(fill->shape));
}

static void note_choices(filler *fill) {
    const gp_model_request *request = fill->request;
    const gp_shape *shape = fill->shape;
    if (fill->scaled) {
        gp_diagnostic *row = gp_diagnose(fill->diagnostics, GP_CODE_FAMILY_SCALED, "model.params");
        gp_argue_number(row, "layers", (double)shape->layers);
        gp_argue_number(row, "hidden", (double)shape->hidden);
        gp_argue_number(row, "params", gp_shape_params(shape));
        return;
    }
    if (request->ffn == 0) {
        const char *from = request->params > 0 ? "model.params" : "model.hidden";
        note(fill, GP_CODE_DERIVED_VALUE, "model.ffn", shape->ffn, from);
    }
    note_structure(fill, "model.style", "style", shape->model_type);
    if (request->gated_ffn < 0) {
        note_structure(fill, "model.gated_ffn", "gated_ffn", shape->gated_ffn ? "true" : "false");
    }
    if (request->tied_embeddings < 0) {
        note_structure(fill, "model.tied_embeddings", "tied_embeddings", shape->tied_embeddings ? "true" : "false");
    }
}

/* A style names a family: its structure is taken as it is, but for what the request states. */
static bool take_style(filler *fill) {
    const gp_model_request *request = fill->request;
    if (!gp_config_structure(request->style, fill->shape)) {
        gp_argue_text(gp_diagnose(fill->diagnostics, GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.style"), "value",
                      request->style);
        return false;
    }
    take_stated(request, fill->shape);
    if (request->ffn > 0) return true;
    gp_shape open = *fill->shape;
    if (request->params > 0) {
        gp_shape_fit_ffn(&open, request->params);
    } else {
        open.ffn = open.gated_ffn ? ((8 * open.hidden + 2) / 3 + 255) / 256 * 256 : 4 * open.hidden;
    }
    fill->shape->ffn = open.ffn;
    return true;
}

static bool check_supported(const gp_model_request *request, gp_diagnostics *diagnostics) {
    static const char *const known[] = {"", "MHA", "GQA", "MQA", "full", "causal", "softmax", "MLA"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (gp_text_is_folded(known[i], request->attention, strlen(request->attention))) return true;
    }
    gp_argue_text(gp_diagnose(diagnostics, GP_CODE_UNSUPPORTED_ARCHITECTURE, "model.attention"), "value",
                  request->attention);
    return false;
}

/* An FFN of one column and still too many parameters: the size does not hold the rest. */
static bool check_size(filler *fill) {
    const gp_model_request *request = fill->request;
    if (request->ffn > 0 || request->params <= 0 || request->params_max || fill->scaled) return true;
    double off = fabs(gp_shape_params(fill->shape) - request->params);
    if (off <= 0.01 * request->params) return true;
    return refuse(fill, GP_CODE_INCONSISTENT_MODEL, "model.params", "params", request->params);
}

bool gp_request_is_latent(const gp_model_request *request) {
    return gp_text_is_folded("MLA", request->attention, strlen(request->attention));
}

bool gp_shape_of_request(const gp_model_request *request, const gp_shape_use *use, gp_shape *shape,
                         gp_diagnostics *diagnostics) {
    filler fill = {request, shape, diagnostics, use, false};
    if (!check_supported(request, diagnostics) || !fill_size(&fill) || !fill_heads(&fill)) return false;
    fill_rest(&fill);
    bool sparse = request->has_moe || gp_request_is_latent(request);
    if (sparse && gp_shape_of_catalogue(request, shape, diagnostics)) return true;
    if (sparse && !gp_shape_take_sparse(request, shape, diagnostics)) return false;
    if (request->style[0] != '\0') return take_style(&fill) && check_size(&fill);
    *shape = request->params > 0 && !fill.scaled ? nearest_structure(&fill) : usual_structure(&fill);
    if (!check_size(&fill)) return false;
    note_choices(&fill);
    return true;
}
