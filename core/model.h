/* model.h: a model as a list of layers, each with its matrices, so that sharding, quantisation, adapters and
 * activations all read one structure. Layers are asked for by index: an architecture whose layers differ answers
 * differently for each. */
#ifndef GP_MODEL_H
#define GP_MODEL_H

#include "catalog.h"
#include "job.h"

/* How tensor parallelism splits a matrix. */
typedef enum { GP_SPLIT_COLUMN, GP_SPLIT_ROW, GP_SPLIT_KV_COLUMN } gp_split;

typedef struct {
    unsigned target;  /* one GP_TARGET_* bit */
    int64_t inputs, outputs;
    bool bias;
    gp_split split;   /* KV_COLUMN: split by KV heads, replicated when there are fewer KV heads than ranks */
} gp_matrix;

#define GP_MATRICES_MAX 8
typedef struct {
    int matrix_count;
    gp_matrix matrices[GP_MATRICES_MAX]; /* q, k, v, o, gate (if gated), up, down */
    uint64_t linear_params;  /* sum of inputs * outputs */
    uint64_t bias_params;
    uint64_t norm_params;    /* norms of the layer, q and k norms included */
} gp_layer;

typedef struct {
    gp_shape shape;
    gp_layer dense_layer;     /* the layer every index answers with, for dense models */
    uint64_t embedding_params; /* token table */
    uint64_t position_params;
    uint64_t head_params;     /* 0 when tied */
    uint64_t final_params;    /* final norm, embedding norm, projections of OPT-350m */
    uint64_t total_params;    /* computed from shapes; tied weights once */
    uint64_t trainable_params; /* adapters for LoRA and QLoRA, all otherwise, 0 for inference */
    uint64_t adapter_params;
    double stated_params;     /* `params` of the request, 0 = none: the textbook ledger's N */
    const gp_model_row *row;  /* catalogue row, NULL for shapes and configs */
    char name[GP_TEXT_BYTES];
} gp_model;

/* Structure of the job's model. Open points of explicit shapes are closed with the structure whose count is nearest to
 * the stated `params` (gated or plain FFN, tied or untied embeddings, biases: the rules stand in model_shapes.h), each
 * choice noted in `diagnostics` as STRUCTURE_CHOSEN; a count that stays 5 % off is a warning. `params` alone gives a
 * Llama-like family scaled by size (gp_model_scaled), noted as FAMILY_SCALED. `params":"max"` is left to the solver:
 * the smallest family member is returned. Returns false after an error row. */
bool gp_model_build(const gp_job *job, gp_model *model, gp_diagnostics *diagnostics);

/* Recomputes counts from model->shape and the job's adapters (rank, targets; all linear matrices when none are
 * given). Without a job (NULL) nothing is trainable. */
void gp_model_count(const gp_job *job, gp_model *model);

/* The member of the Llama-like family nearest to `params`: h = 128 i, L from the published Llama 1-3 line
 * (2048/16 … 4096/32, 5120/40, 6656/60, 8192/80, 16384/126, linear between), heads of 128, f = 8h/3 rounded up to 256,
 * V = 32000 untied, ffn then adjusted by multiples of 1 so that the count is as near as it can be. */
void gp_model_scaled(double params, gp_shape *shape);

/* Layer of an index, 0 <= index < shape.layers. */
const gp_layer *gp_model_layer(const gp_model *model, int64_t index);

#endif
