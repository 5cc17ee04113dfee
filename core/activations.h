/* activations.h: what one layer keeps for its backward pass, tensor by tensor. Of unlike layers the mean is kept, the
 * largest is live. */
#ifndef GP_ACTIVATIONS_H
#define GP_ACTIVATIONS_H

#include "layout.h"
#include "tape.h"

/* Bytes per token on one rank (tensor and sequence parallelism applied; context parallelism divides the tokens). */
typedef struct {
    double kept;       /* a layer between forward and backward under the job's recompute policy */
    double live;       /* a layer without recomputation: what the recomputed layer holds while it runs backward */
    double checkpoint; /* input of a layer */
    double working;    /* gradients of activations in flight within the layer that runs backward */
    double ends;       /* outside the layers: final norm and input of the output matrix, on the last stage */
} gp_layer_bytes;

gp_layer_bytes gp_layer_activations(const gp_job *job, const gp_model *model, const gp_layout *layout,
                                    const gp_stage_share *share);

/* A step of eager PyTorch code replayed operator by operator on one GPU that holds the whole model: what is alive at the
 * worst moment of the layers' forward pass, of the loss and of the backward pass, beside parameters, states and batch. */
typedef struct {
    gp_moment forward, loss, backward;
    uint64_t saved;  /* kept for backward when forward is over, logits included; tables, masks and random states not */
    uint64_t saved_by[GP_OP_COUNT + 1]; /* parts of it, see tape.h */
    uint64_t layers; /* part of it that the layers keep */
    uint64_t left;   /* held by checkpoints as long as the loss has a name: random states, an input made a leaf */
} gp_eager_step;

/* False for jobs whose code is not known operator by operator. Known are transformers' eager kernels, Llama-like and
 * GPT-2 layers, without tensor, context or pipeline parallelism, with full recomputation or none. */
bool gp_eager_replay(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_eager_step *step);

#endif
