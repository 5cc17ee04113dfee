/* model.h: a model as a list of layers, each with its matrices, so that sharding, quantisation, adapters, caches and
 * activations all read one structure. Layers are asked for by index: an architecture whose layers differ answers
 * differently for each. A model has at most GP_KINDS_MAX distinct layers, so sums over many go by kind. */
#ifndef GP_MODEL_H
#define GP_MODEL_H

#include "catalog/catalog.h"
#include "request/job.h"

typedef enum {
#define GP_TENSOR(id, gguf, module, target, quantised) GP_TENSOR_##id,
#include "model/tensors.def"
#undef GP_TENSOR
    GP_TENSOR_COUNT
} gp_tensor;

typedef struct {
    const char *gguf;   /* "attn_q", "ffn_down_exps" */
    const char *module; /* "q_proj" */
    unsigned target;    /* one GP_TARGET_* bit, 0 = takes no adapter */
    bool quantised;     /* false: kept in 16 or 32 bits by every format (routers, convolutions, A of Mamba) */
} gp_tensor_row;
const gp_tensor_row *gp_tensor_info(gp_tensor tensor);

/* How tensor parallelism splits a matrix. KV_COLUMN: by KV heads, copied when there are fewer of them than ranks.
 * COPIED: whole on every rank (the down-projections of latent attention, routers). */
typedef enum { GP_SPLIT_COLUMN, GP_SPLIT_ROW, GP_SPLIT_KV_COLUMN, GP_SPLIT_COPIED } gp_split;

typedef struct {
    gp_tensor tensor;
    unsigned target;  /* one GP_TARGET_* bit, 0 = takes no adapter */
    int64_t inputs, outputs;
    int64_t copies;   /* experts, 1 otherwise; one three-dimensional tensor in GGUF */
    bool bias;        /* `outputs` numbers, for each copy */
    gp_split split;
} gp_matrix;

#define GP_MATRICES_MAX 24
typedef struct {
    gp_layer_kind kind;      /* with heads, kv_heads, head_dim and ffn filled */
    int64_t window;          /* tokens that SLIDING and CHUNKED attention sees, else 0 */
    /* Cached for each token in view, elements before tensor parallelism; 0 = no cache. A latent (MLA) is a key without
     * a value, and is whole on every rank. */
    int64_t cache_keys, cache_values, cache_index;
    /* Kept for each sequence, whatever its length: the convolution's last inputs (R), the state (S). Elements. */
    uint64_t conv_state, recurrent_state;
    uint64_t gathered;       /* of the latter, elements of one token (COMPRESSED) */
    int matrix_count;
    gp_matrix matrices[GP_MATRICES_MAX]; /* attention, recurrence, FFN, in the order of computation */
    uint64_t linear_params;  /* inputs * outputs * copies of the quantised matrices, experts included */
    uint64_t expert_params;  /* routed experts with their biases: parts of linear_params and bias_params */
    uint64_t bias_params;
    uint64_t norm_params;    /* norms of the layer, q and k norms included */
    uint64_t other_params;   /* matrices that no format quantises, vectors and scalars */
    uint64_t params;         /* all of them */
    uint64_t active_params;  /* used by one token: params with topk of the routed experts */
} gp_layer;

typedef struct {
    gp_shape shape;
    int kind_count;           /* at least 1 */
    gp_layer kinds[GP_KINDS_MAX];
    int64_t kind_layers[GP_KINDS_MAX]; /* layers of each kind */
    uint64_t embedding_params; /* token table */
    uint64_t position_params;
    uint64_t head_params;     /* 0 when tied */
    uint64_t final_params;    /* final norm, embedding norm, projections of OPT-350m, shared extras */
    uint64_t vision_params, audio_params; /* towers with their projectors */
    uint64_t mtp_params;      /* multi-token prediction modules; in total_params only when shape.mtp_counted */
    uint64_t expert_params;   /* routed experts of all layers: what expert parallelism divides */
    uint64_t total_params;    /* computed from shapes; tied weights once; towers included */
    /* Parameters that one token uses, for mixtures of experts: all but the towers, the prediction modules and the
     * experts that are not chosen, that is topk of each layer's routed experts, every shared expert, every other
     * weight, embedding and head (tied: once). The convention of Mixtral (arXiv:2401.04088) and of most model cards;
     * some leave the embedding out. Equal to the rest of total_params for dense models. */
    uint64_t active_params;
    uint64_t trainable_params; /* adapters for LoRA and QLoRA, all otherwise, 0 for inference */
    uint64_t adapter_params;
    double stated_params;     /* `params` of the request, 0 = none: the textbook ledger's N */
    bool chosen_ffn;          /* the width of the feed-forward block was chosen to meet a count: no model has just that */
    gp_model_row row;         /* of the catalogue; its id is NULL for shapes and configs */
    char name[GP_TEXT_BYTES];
} gp_model;

/* Structure of the job's model. Open points of explicit shapes are closed with the structure whose count is nearest to
 * the stated `params` (gated or plain FFN, tied or untied embeddings, biases: the rules stand in model_shapes.h), each
 * choice noted in `diagnostics` as STRUCTURE_CHOSEN; a count that stays 5 % off is a warning. `params` alone gives a
 * Llama-like family scaled by size (gp_model_scaled), noted as FAMILY_SCALED. While `params` is "max" its number
 * is the size that the solver tries, and a size too small for the stated dimensions gives the smallest model that has
 * them. Returns false after an error row. */
bool gp_model_build(const gp_job *job, gp_model *model, gp_diagnostics *diagnostics);

/* Recomputes layers and counts from model->shape and the job's adapters (rank, targets; all linear matrices when none
 * are given). Without a job (NULL) nothing is trainable. */
void gp_model_count(const gp_job *job, gp_model *model);

/* Warnings about the model alone: COUNT_DIFFERS when stated_params, unless 0, is more than 5 % from the counted
 * parameters, STRUCTURE_INCOMPLETE when some are not counted. */
void gp_model_warn(const gp_model *model, gp_diagnostics *diagnostics);

/* A layer of `kind` in a model of this shape; part of gp_model_count. */
void gp_layer_build(const gp_shape *shape, const gp_layer_kind *kind, gp_layer *layer);

/* True when an adapter with these targets (GP_TARGET_*, 0 = the default, all linear matrices) covers the matrix. */
bool gp_adapts(unsigned targets, const gp_matrix *matrix);

/* What is fixed of the Llama-like family of which one member is wanted; 0 = open. */
typedef struct {
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab;
    int64_t divisor;      /* heads are a multiple of it, as far as the family goes */
    int64_t least_layers;
} gp_family;

/* The member of the family nearest to `params`: heads of 128, 1, 2, 4 or a multiple of 8 of them, h = 128 heads, L from
 * the published Llama 1-3 line (2048/16 … 4096/32, 5120/40, 6656/60, 8192/80, 16384/126, linear between),
 * f = 8h/3 rounded up to 256, V = 32000 untied, ffn then adjusted by multiples of 1 so that the count is as near as it
 * can be. With the width fixed it is the depth that grows. No dimension shrinks as `params` grows, but for ffn from one
 * member to the next. */
void gp_model_scaled(double params, const gp_family *family, gp_shape *shape);

/* Layer of an index, 0 <= index < shape.layers. */
const gp_layer *gp_model_layer(const gp_model *model, int64_t index);

/* How many of the layers first … first + count - 1 are of each kind. */
void gp_model_kinds_of(const gp_model *model, int64_t first, int64_t count, int64_t layers[GP_KINDS_MAX]);

#endif
