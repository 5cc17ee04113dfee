/* model_shapes.h: a shape from the dimensions a request states, with the open ones filled in. Private to model*.c. */
#ifndef GP_MODEL_SHAPES_H
#define GP_MODEL_SHAPES_H

#include "model/model.h"

/* Vocabulary of Llama and Llama 2. */
enum { GP_VOCAB_DEFAULT = 32000 };
/* Widest hidden state of the scaled family: 16,384 heads of 128. */
enum { GP_WIDTH_MOST = 1 << 21 };

/* True when the request's object holds a name and nothing else that describes a model. */
bool gp_request_is_name(const gp_model_request *request);

/* What a shape is wanted for, as far as the job states it. */
typedef struct {
    int64_t sequence;     /* length trained on, 0 = none: rows of a table of learned positions */
    int64_t tensor_ranks; /* GPUs that are to share the heads, 0 = not stated */
    int64_t stages;       /* chunks that are to hold a layer each, 0 = not stated */
} gp_shape_use;

/* Shape of a request that states dimensions or a size. What it leaves open is filled in by these rules, each noted:
 *   layers, hidden  of the Llama-like family member nearest to `params` (gp_model_scaled) among those that have the
 *                   stated dimensions and can be split as the job asks
 *   heads           hidden / head_dim; head_dim not given: the largest divisor of hidden up to 128
 *   kv_heads        as many as heads
 *   vocab           GP_VOCAB_DEFAULT
 *   ffn             so that the count is `params`; without `params` 8/3 hidden rounded up to 256, or 4 hidden ungated
 *   structure       that of `style`; else the first of a list of common ones whose count rounds to `params` as the
 *                   request writes it, else the one whose count is nearest. Without `params` a gated FFN, except when
 *                   ffn = 4 hidden with full multi-head attention: a GPT block.
 * Returns false after an error row. */
bool gp_shape_of_request(const gp_model_request *request, const gp_shape_use *use, gp_shape *shape,
                         gp_diagnostics *diagnostics);

/* True for "attention":"MLA". */
bool gp_request_is_latent(const gp_model_request *request);
/* The shape of a catalogue row, when the request states experts or latent attention in just that row's dimensions:
 * vocabulary and tying are the request's, and the count agrees within 2 % when one is stated. Noted as
 * STRUCTURE_CHOSEN. */
bool gp_shape_of_catalogue(const gp_model_request *request, gp_shape *shape, gp_diagnostics *diagnostics);
/* Experts, the layers that have them, and latent attention, as the request states them; what it leaves open of the
 * latter is DeepSeek's. Dimensions of `shape` are set. Returns false after an error row. */
bool gp_shape_take_sparse(const gp_model_request *request, gp_shape *shape, gp_diagnostics *diagnostics);

/* Parameters of a shape. */
double gp_shape_params(const gp_shape *shape);
/* Sets ffn so that the count is as near to `params` as it can be. */
void gp_shape_fit_ffn(gp_shape *shape, double params);

#endif
