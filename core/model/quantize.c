#include "model/quantize.h"

#include <stddef.h>
#include <string.h>

#include "base/quantity.h"

/* Layers that a mix treats better than the others: of n, the first eighth or sixteenth; the first few; or "more": the
 * first and last eighth and every third between. */
typedef enum { LAYERS_NONE, LAYERS_EIGHTH, LAYERS_SIXTEENTH, LAYERS_TWO, LAYERS_FOUR, LAYERS_MORE } layer_rule;

static bool is_chosen(layer_rule rule, int64_t layer, int64_t layers) {
    switch (rule) {
    case LAYERS_EIGHTH: return layer < layers / 8;
    case LAYERS_SIXTEENTH: return layer < layers / 16;
    case LAYERS_TWO: return layer < 2;
    case LAYERS_FOUR: return layer < 4;
    case LAYERS_MORE: return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
    default: return false;
    }
}

/* What a mix gives to tensors of each role; 0, which is F32, stands for the base type. */
typedef struct {
    const char *name;
    gp_ggml_type base, output, embedding;
    gp_ggml_type value, value_wide, value_chosen; /* wide: four or more query heads share a KV head */
    layer_rule value_rule;
    gp_ggml_type query_key;
    gp_ggml_type projection, projection_eight;    /* attn_output; in models of eight experts */
    gp_ggml_type down, down_chosen;
    layer_rule down_rule;
    gp_ggml_type gate_up_middle;                  /* in layers between the first and the last eighth */
    gp_ggml_type falcon_projection, falcon_down, falcon_down_more; /* Falcon's, where base does not serve */
    bool tiny;                                    /* below three bits: rules of their own for experts */
} mix_row;

#define T(id) GP_GGML_##id
#define OUTPUT .output = T(Q6_K)
#define VALUE_MORE .value_chosen = T(Q6_K), .value_rule = LAYERS_MORE
#define DOWN_MORE .down_chosen = T(Q6_K), .down_rule = LAYERS_MORE
#define EIGHT .projection_eight = T(Q5_K)
#define TINY .output = T(Q5_K), .value_wide = T(Q4_K), EIGHT, .down_rule = LAYERS_EIGHTH, .tiny = true
#define TINY_2 TINY, .embedding = T(Q2_K), .value = T(Q2_K), .down_chosen = T(Q2_K)
#define TINY_3 TINY, .embedding = T(IQ3_S), .value = T(IQ3_S), .projection = T(IQ3_S), .down_chosen = T(IQ3_S)

/* The i-quants but for IQ4 are taken to have been made with an importance matrix, which they need. */
static const mix_row mixes[] = {
    {"gguf:F32", .base = T(F32)},
    {"gguf:F16", .base = T(F16)},
    {"gguf:BF16", .base = T(BF16)},
    {"gguf:Q4_0", T(Q4_0), OUTPUT},
    {"gguf:Q4_1", T(Q4_1), OUTPUT},
    {"gguf:Q5_0", T(Q5_0), OUTPUT},
    {"gguf:Q5_1", T(Q5_1), OUTPUT},
    {"gguf:Q8_0", .base = T(Q8_0)},
    {"gguf:NVFP4", T(NVFP4), OUTPUT},
    {"gguf:MXFP4_MOE", T(MXFP4), .output = T(Q8_0)},
    {"gguf:TQ1_0", T(TQ1_0), OUTPUT, .embedding = T(Q4_K)},
    {"gguf:TQ2_0", T(TQ2_0), OUTPUT, .embedding = T(Q4_K)},
    {"gguf:Q2_K", T(Q2_K), OUTPUT, .value = T(Q3_K), .value_wide = T(Q4_K), .projection = T(Q3_K), EIGHT,
     .down = T(Q3_K)},
    {"gguf:Q2_K_S", T(Q2_K), OUTPUT, .value_wide = T(Q4_K), .down_chosen = T(Q4_K), .down_rule = LAYERS_EIGHTH},
    {"gguf:Q3_K_S", T(Q3_K), OUTPUT, EIGHT},
    {"gguf:Q3_K_M", T(Q3_K), OUTPUT, .value = T(Q4_K), .value_wide = T(Q4_K), .value_chosen = T(Q5_K),
     .value_rule = LAYERS_TWO, .projection = T(Q4_K), EIGHT, .down = T(Q4_K), .down_chosen = T(Q5_K),
     .down_rule = LAYERS_SIXTEENTH, .falcon_down_more = T(Q4_K)},
    {"gguf:Q3_K_L", T(Q3_K), OUTPUT, .value = T(Q5_K), .value_wide = T(Q5_K), .projection = T(Q5_K), .down = T(Q5_K),
     .falcon_projection = T(Q4_K), .falcon_down = T(Q4_K)},
    {"gguf:Q4_K_S", T(Q4_K), OUTPUT, .value_chosen = T(Q5_K), .value_rule = LAYERS_FOUR, EIGHT, .down_chosen = T(Q5_K),
     .down_rule = LAYERS_EIGHTH},
    {"gguf:Q4_K_M", T(Q4_K), OUTPUT, VALUE_MORE, EIGHT, DOWN_MORE, .falcon_down_more = T(Q5_K)},
    {"gguf:Q5_K_S", T(Q5_K), OUTPUT},
    {"gguf:Q5_K_M", T(Q5_K), OUTPUT, VALUE_MORE, DOWN_MORE, .falcon_down_more = T(Q6_K)},
    {"gguf:Q6_K", T(Q6_K), OUTPUT},
    {"gguf:IQ1_S", T(IQ1_S), TINY_2, .projection = T(IQ2_XXS)},
    {"gguf:IQ1_M", T(IQ1_M), TINY_2, .projection = T(IQ2_XXS)},
    {"gguf:IQ2_XXS", T(IQ2_XXS), TINY_2},
    {"gguf:IQ2_XS", T(IQ2_XS), TINY_2},
    {"gguf:IQ2_S", T(IQ2_XS), TINY_3},
    {"gguf:IQ2_M", T(IQ2_S), TINY_3},
    {"gguf:IQ3_XXS", T(IQ3_XXS), .output = T(Q5_K), .embedding = T(IQ3_S), .value_wide = T(Q4_K),
     .query_key = T(IQ2_S), .projection = T(IQ3_S), EIGHT},
    {"gguf:IQ3_XS", T(IQ3_S), OUTPUT, .value_wide = T(Q4_K), .query_key = T(IQ3_XXS), EIGHT,
     .gate_up_middle = T(IQ3_XXS)},
    {"gguf:IQ3_S", T(IQ3_S), OUTPUT, .value_wide = T(Q4_K), EIGHT},
    {"gguf:IQ3_M", T(IQ3_S), OUTPUT, .value = T(Q4_K), .value_wide = T(Q4_K), .projection = T(Q4_K), EIGHT,
     .down_chosen = T(Q4_K), .down_rule = LAYERS_EIGHTH},
    {"gguf:IQ4_NL", T(IQ4_NL), OUTPUT, .value_wide = T(Q5_K), EIGHT, .down_chosen = T(Q5_K),
     .down_rule = LAYERS_EIGHTH},
    {"gguf:IQ4_XS", T(IQ4_XS), OUTPUT, .value_wide = T(Q5_K), EIGHT, .down_chosen = T(Q5_K),
     .down_rule = LAYERS_EIGHTH},
};
enum { MIX_COUNT = sizeof mixes / sizeof mixes[0] };

int gp_mix_find(const char *name) {
    if (strncmp(name, "gguf:", 5) != 0) return -1;
    for (int mix = 0; mix < MIX_COUNT; mix++)
        if (strcmp(mixes[mix].name, name) == 0) return mix;
    return -1;
}

/* The quantiser tells tensors apart by their names; OTHER holds those that none of its rules names. */
typedef enum { ROLE_OTHER, ROLE_FLOAT, ROLE_VALUE, ROLE_KEY, ROLE_QUERY, ROLE_PROJECTION, ROLE_GATE_UP, ROLE_DOWN } role;

static role role_of(gp_tensor tensor) {
    switch (tensor) {
    case GP_TENSOR_ROUTER:
    case GP_TENSOR_SHARED_SWITCH:
    case GP_TENSOR_STREAMS_ATTN:
    case GP_TENSOR_STREAMS_FFN:
    case GP_TENSOR_SSM_CONV:
    case GP_TENSOR_SSM_A:
    case GP_TENSOR_SHORT_CONV: return ROLE_FLOAT;
    case GP_TENSOR_ATTN_V:
    case GP_TENSOR_CROSS_V:
    case GP_TENSOR_LINEAR_QKV: return ROLE_VALUE;
    case GP_TENSOR_ATTN_K:
    case GP_TENSOR_CROSS_K:
    case GP_TENSOR_INDEX_K: return ROLE_KEY;
    case GP_TENSOR_ATTN_Q:
    case GP_TENSOR_CROSS_Q: return ROLE_QUERY;
    case GP_TENSOR_ATTN_OUTPUT: return ROLE_PROJECTION;
    case GP_TENSOR_FFN_GATE:
    case GP_TENSOR_FFN_UP:
    case GP_TENSOR_EXPERT_GATE:
    case GP_TENSOR_EXPERT_UP:
    case GP_TENSOR_SHARED_GATE:
    case GP_TENSOR_SHARED_UP: return ROLE_GATE_UP;
    case GP_TENSOR_FFN_DOWN:
    case GP_TENSOR_EXPERT_DOWN:
    case GP_TENSOR_SHARED_DOWN: return ROLE_DOWN;
    default: return ROLE_OTHER;
    }
}

/* A walk over the layers of a file, with the counters that the quantiser keeps on its way. */
typedef struct {
    const gp_model *model;
    const mix_row *mix;
    bool falcon, wide, seventy, eight, experts;
    bool weighed;                  /* quantised with an importance matrix */
    gp_ggml_type fused;            /* of attn_qkv, F32 where it counts as attn_v */
    int64_t layer, layers;         /* block number; blocks of the file */
    int64_t values, value_tensors; /* attn_v and its kin: passed, all */
    int64_t downs, gates;          /* ffn_down passed; layers with gate or up passed */
    gp_file_bytes *bytes;          /* by_type is added to */
} walk;

static gp_ggml_type or_base(const mix_row *mix, gp_ggml_type type) {
    return type != T(F32) ? type : mix->base;
}

static gp_ggml_type value_type(const walk *at) {
    const mix_row *mix = at->mix;
    gp_ggml_type type = or_base(mix, at->wide && mix->value_wide != T(F32) ? mix->value_wide : mix->value);
    if (is_chosen(mix->value_rule, at->values, at->value_tensors)) type = mix->value_chosen;
    if (mix->tiny) return type;
    if (at->seventy && (type == T(Q3_K) || type == T(Q4_K))) type = T(Q5_K);
    return at->eight ? T(Q8_0) : type;
}

static gp_ggml_type projection_type(const walk *at) {
    const mix_row *mix = at->mix;
    if (at->falcon && !mix->tiny) return or_base(mix, mix->falcon_projection);
    return or_base(mix, at->eight ? mix->projection_eight : mix->projection);
}

static gp_ggml_type down_type(const walk *at) {
    const mix_row *mix = at->mix;
    int64_t layers = at->layers;
    int64_t index = at->experts && !mix->tiny ? at->layer : at->downs;
    bool more = is_chosen(LAYERS_MORE, index, layers);
    gp_ggml_type chosen = mix->down_chosen;
    if (at->falcon && mix->falcon_down != T(F32)) return mix->falcon_down;
    if (at->falcon && mix->falcon_down_more != T(F32)) {
        if (mix->base != T(Q5_K) && is_chosen(LAYERS_SIXTEENTH, index, layers)) return chosen;
        return more ? mix->falcon_down_more : mix->base;
    }
    if (at->falcon && mix->base == T(Q4_K)) return mix->base;
    /* IQ3_M alone spends more on the experts of models that have eight. */
    if (at->eight && mix->base == T(IQ3_S) && chosen != T(F32) && more) return chosen;
    if (at->weighed && is_chosen(LAYERS_EIGHTH, index, layers)) {
        if (mix->base == T(Q4_0)) return T(Q4_1);
        if (mix->base == T(Q5_0)) return T(Q5_1);
    }
    return is_chosen(mix->down_rule, index, layers) ? chosen : or_base(mix, mix->down);
}

static gp_ggml_type gate_up_type(const walk *at) {
    int64_t layers = at->layers, index = at->experts ? at->layer : at->gates;
    bool middle = index >= layers / 8 && index < 7 * layers / 8;
    return middle ? or_base(at->mix, at->mix->gate_up_middle) : at->mix->base;
}

static gp_ggml_type key_type(const walk *at) {
    if (at->eight) return at->mix->tiny ? T(Q4_K) : T(Q8_0);
    return or_base(at->mix, at->mix->query_key);
}

static gp_ggml_type type_of(const walk *at, role kind, bool stacked) {
    const mix_row *mix = at->mix;
    if (kind == ROLE_FLOAT) return T(F32);
    if (gp_ggml_info(mix->base)->values == 1) return mix->base;
    if (mix->base == T(MXFP4)) return stacked ? mix->base : T(Q8_0);
    switch (kind) {
    case ROLE_VALUE: return value_type(at);
    case ROLE_KEY: return key_type(at);
    case ROLE_QUERY: return or_base(mix, mix->query_key);
    case ROLE_PROJECTION: return projection_type(at);
    case ROLE_GATE_UP: return gate_up_type(at);
    case ROLE_DOWN: return down_type(at);
    default: return mix->base;
    }
}

/* Rows that are no multiple of a block take a type of smaller blocks, in the end f16. */
static gp_ggml_type fitting(gp_ggml_type type, int64_t width) {
    if (width % gp_ggml_info(type)->values == 0) return type;
    switch (type) {
    case T(Q2_K):
    case T(Q3_K):
    case T(TQ1_0):
    case T(TQ2_0): type = T(Q4_0); break;
    case T(Q4_K): type = T(Q5_0); break;
    case T(Q5_K): type = T(Q5_1); break;
    case T(Q6_K): type = T(Q8_0); break;
    default: type = T(IQ4_NL); break;
    }
    return width % gp_ggml_info(type)->values == 0 ? type : T(F16);
}

static uint64_t put(walk *at, gp_ggml_type type, int64_t width, uint64_t rows) {
    type = fitting(type, width);
    uint64_t bytes = gp_ggml_bytes(type, (uint64_t)width, rows);
    at->bytes->by_type[type] = gp_add(at->bytes->by_type[type], bytes);
    return bytes;
}

static uint64_t put_floats(walk *at, uint64_t count) {
    return put(at, T(F32), 1, count);
}

/* The second matrix of latent attention is stored as two stacks, one per head: keys from the latent transposed, values
 * from the latent. */
static uint64_t put_latent(walk *at, const gp_matrix *matrix, int64_t heads) {
    const gp_latent *latent = &at->model->shape.latent;
    gp_ggml_type type = type_of(at, ROLE_OTHER, true);
    uint64_t keys = put(at, type, latent->nope, gp_mul((uint64_t)heads, (uint64_t)matrix->inputs));
    return gp_add(keys, put(at, type, matrix->inputs, gp_mul((uint64_t)heads, (uint64_t)latent->value)));
}

static uint64_t put_matrix(walk *at, const gp_matrix *matrix, const gp_layer *layer) {
    if (matrix->tensor == GP_TENSOR_ATTN_KV_B) return put_latent(at, matrix, layer->kind.heads);
    bool fused = at->model->shape.fused_qkv && matrix->tensor <= GP_TENSOR_ATTN_V;
    role kind = fused ? ROLE_VALUE : role_of(matrix->tensor);
    gp_ggml_type type = type_of(at, kind, matrix->copies > 1);
    if (fused && at->fused != T(F32)) type = at->fused;
    int64_t width = matrix->inputs, whole = gp_ggml_info(T(Q4_K))->values;
    /* The widths of models are multiples of a block; one that was chosen to meet a count is meant to be. */
    if (kind == ROLE_DOWN && at->model->chosen_ffn) width = (width + whole - 1) / whole * whole;
    uint64_t bytes = put(at, type, width, gp_mul((uint64_t)matrix->outputs, (uint64_t)matrix->copies));
    if (kind == ROLE_DOWN) at->downs++;
    return bytes;
}

static bool has_role(const gp_layer *layer, role wanted) {
    for (int i = 0; i < layer->matrix_count; i++)
        if (role_of(layer->matrices[i].tensor) == wanted) return true;
    return false;
}

static uint64_t put_layer(walk *at, const gp_layer *layer) {
    uint64_t floats = gp_add(gp_add(layer->norm_params, layer->bias_params), layer->other_params), bytes = 0;
    for (int i = 0; i < layer->matrix_count; i++) {
        const gp_matrix *matrix = &layer->matrices[i];
        bytes = gp_add(bytes, put_matrix(at, matrix, layer));
        uint64_t params = gp_mul3((uint64_t)matrix->inputs, (uint64_t)matrix->outputs, (uint64_t)matrix->copies);
        if (!gp_tensor_info(matrix->tensor)->quantised) floats = gp_sub_or_zero(floats, params);
    }
    if (has_role(layer, ROLE_VALUE)) at->values++;
    if (has_role(layer, ROLE_GATE_UP)) at->gates++;
    at->layer++;
    return gp_add(bytes, put_floats(at, floats));
}

/* The quantiser knows the 70B models of Llama and Qwen by their eighty layers. */
static bool is_seventy(const gp_shape *shape) {
    const char *type = shape->model_type != NULL ? shape->model_type : "";
    bool known = strcmp(type, "llama") == 0 || strcmp(type, "qwen2") == 0;
    return known && shape->layers == 80 && shape->heads != shape->kv_heads;
}

/* Published files of a model of the catalogue are as old as the model, and made as was usual then; others are made with
 * today's quantiser and no importance matrix. */
enum { MATRICES_USUAL = 2024, FUSED_AS_VALUE = 2026 };

/* attn_qkv had a rule of its own; F32 where today's holds, by which it is an attn_v. */
static gp_ggml_type fused_type(const gp_model *model, const mix_row *mix) {
    bool old = model->row.id != NULL && model->row.release_year < FUSED_AS_VALUE;
    if (!old || mix->tiny || gp_ggml_info(mix->base)->values == 1) return T(F32);
    if (mix->value_rule == LAYERS_MORE) return mix->base == T(Q4_K) ? T(Q5_K) : T(Q6_K);
    bool more = mix->base == T(Q3_K) || mix->base == T(IQ3_S);
    return more && mix->value != T(F32) ? T(Q4_K) : mix->base;
}

/* Prediction modules that the family's converter keeps, as blocks after the layers. */
static int64_t kept_modules(const gp_shape *shape) {
    return shape->model_type != NULL && strcmp(shape->model_type, "glm4_moe") == 0 ? shape->mtp_layers : 0;
}

static walk begin(const gp_model *model, int mix, gp_file_bytes *bytes) {
    const gp_shape *shape = &model->shape;
    const gp_layer_kind *first = &gp_model_layer(model, 0)->kind;
    walk at = {.model = model, .mix = &mixes[mix], .bytes = bytes};
    at.fused = fused_type(model, at.mix);
    at.weighed = model->row.id != NULL && model->row.release_year >= MATRICES_USUAL;
    at.layers = shape->layers + kept_modules(shape);
    at.falcon = shape->model_type != NULL && strcmp(shape->model_type, "falcon") == 0;
    at.seventy = is_seventy(shape);
    at.experts = shape->experts.count > 1;
    at.eight = shape->experts.count == 8;
    /* Latent attention counts as one shared head. */
    int64_t kv_heads = first->attention == GP_ATTENTION_LATENT ? 1 : first->kv_heads;
    at.wide = first->attention != GP_ATTENTION_NONE && kv_heads > 0 && first->heads / kv_heads >= 4;
    if (at.mix->tiny && shape->experts.count >= 4) at.wide = true;
    for (int i = 0; i < model->kind_count; i++)
        if (has_role(&model->kinds[i], ROLE_VALUE)) at.value_tensors += model->kind_layers[i];
    if (kept_modules(shape) > 0) at.value_tensors += shape->mtp_layers;
    return at;
}

/* The output matrix, or the table that serves as one. */
static gp_ggml_type output_type(const walk *at, int64_t width) {
    const mix_row *mix = at->mix;
    int64_t block = gp_ggml_info(mix->base)->values;
    if (block == 1) return mix->base;
    return at->falcon || width % block != 0 ? T(Q8_0) : or_base(mix, mix->output);
}

static gp_ggml_type embedding_type(const walk *at, int64_t width) {
    if (at->model->head_params == 0) return output_type(at, width);
    return at->mix->base == T(MXFP4) ? T(Q8_0) : or_base(at->mix, at->mix->embedding);
}

static void put_ends(walk *at) {
    const gp_shape *shape = &at->model->shape;
    gp_file_bytes *bytes = at->bytes;
    int64_t width = shape->embedding_dim > 0 ? shape->embedding_dim : shape->hidden;
    uint64_t vocab = (uint64_t)shape->vocab;
    gp_ggml_type table = embedding_type(at, width);
    bytes->embedding = put(at, table, width, vocab);
    bytes->output = 0;
    if (at->model->head_params > 0) {
        bytes->output = put(at, output_type(at, width), width, vocab);
        if (shape->head_bias) bytes->output = gp_add(bytes->output, put_floats(at, vocab));
    }
    /* A learned position table keeps the type of the file that was quantised: f16. */
    gp_ggml_type positions = at->mix->base == T(F32) ? T(F32) : T(F16);
    bytes->ends = put(at, positions, shape->hidden, (uint64_t)shape->learned_positions);
    uint64_t extra = (uint64_t)shape->extra_params;
    bytes->ends = gp_add(bytes->ends, put_floats(at, gp_sub_or_zero(at->model->final_params, extra)));
    /* Tables for each layer beside the token table (Gemma 3n) are treated like it. */
    uint64_t rows = extra / (uint64_t)width;
    bytes->ends = gp_add(bytes->ends, put(at, table, width, rows));
    bytes->ends = gp_add(bytes->ends, put_floats(at, extra - rows * (uint64_t)width));
}

/* Layers beyond these are alike in every model; a file has fewer by far. */
enum { LAYERS_WALKED = 4096 };

static uint64_t put_layers(walk *at, int64_t first, int64_t count) {
    int64_t end = first + count < LAYERS_WALKED ? first + count : LAYERS_WALKED;
    uint64_t bytes = 0, last = 0;
    for (int64_t i = 0; i < end; i++) {
        last = put_layer(at, gp_model_layer(at->model, i));
        if (i >= first) bytes = gp_add(bytes, last);
    }
    int64_t beyond = first > LAYERS_WALKED ? count : first + count - end;
    return gp_add(bytes, gp_mul(last, (uint64_t)beyond));
}

void gp_quantize(const gp_model *model, int mix, gp_file_bytes *bytes) {
    *bytes = (gp_file_bytes){0};
    walk at = begin(model, mix, bytes);
    bytes->layers = put_layers(&at, 0, model->shape.layers);
    put_ends(&at);
}

uint64_t gp_quantize_layers(const gp_model *model, int mix, int64_t first, int64_t count) {
    gp_file_bytes unused = {0};
    walk at = begin(model, mix, &unused);
    return put_layers(&at, first, count);
}

/* A module is a block like one of the model's, two norms, a projection and, in some families, both ends again. */
static uint64_t put_module(walk *at) {
    const gp_model *model = at->model;
    const gp_shape *shape = &model->shape;
    const gp_ggml_type base = type_of(at, ROLE_OTHER, false);
    uint64_t bytes = put(at, base, 2 * shape->hidden, (uint64_t)shape->hidden);
    bytes = gp_add(bytes, put_floats(at, gp_mul((uint64_t)shape->mtp_norms, (uint64_t)shape->hidden)));
    uint64_t tables = model->head_params > 0 ? 2 : 1;
    if (shape->mtp_copies) bytes = gp_add(bytes, put(at, base, shape->hidden, gp_mul(tables, (uint64_t)shape->vocab)));
    for (int i = 0; i < shape->mtp_kind_count; i++)
        bytes = gp_add(bytes, put_layer(at, &model->kinds[shape->mtp_kinds[i]]));
    return bytes;
}

uint64_t gp_file_extra(const gp_model *model, int mix) {
    const uint64_t entry = 45;
    uint64_t bytes = gp_mul(entry, (uint64_t)model->shape.vocab);
    int64_t modules = kept_modules(&model->shape);
    if (modules == 0) return bytes;
    gp_file_bytes unused = {0};
    walk at = begin(model, mix, &unused);
    put_layers(&at, 0, model->shape.layers);
    for (int64_t i = 0; i < modules && i < LAYERS_WALKED; i++) bytes = gp_add(bytes, put_module(&at));
    return bytes;
}
