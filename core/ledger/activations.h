/* activations.h: what one layer keeps for its backward pass, tensor by tensor. Of unlike layers the mean is kept, the
 * largest is live. */
#ifndef GP_ACTIVATIONS_H
#define GP_ACTIVATIONS_H

#include "layout/layout.h"
#include "ledger/tape.h"

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

/* Inputs of layers that recomputation starts from, where they are kept on the host: bytes for one GPU of the stage. */
uint64_t gp_host_checkpoints(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_stage_share *share);

/* A step of eager PyTorch code replayed operator by operator on one GPU that holds the whole model: what is alive at the
 * worst moment of the layers' forward pass, of the loss and of the backward pass, beside parameters, states and batch. */
typedef struct {
    gp_moment forward, loss, backward;
    uint64_t saved;  /* kept for backward when forward is over, logits included; tables, masks and random states not */
    uint64_t saved_by[GP_OP_COUNT + 1]; /* parts of it, see tape.h */
    uint64_t layers; /* part of it that the layers keep */
    uint64_t left;   /* held by checkpoints as long as the loss has a name: random states, an input made a leaf */
} gp_eager_step;

/* All that a replay depends on, beside the model's shape. */
typedef struct {
    uint64_t batch, sequence;         /* sequences of the micro-batch, tokens of one */
    uint64_t shards;                  /* see tape.h */
    uint64_t rank;                    /* of adapters */
    unsigned targets;                 /* … on these matrices (GP_TARGET_*) */
    int stored, adapter;              /* bytes of a weight, of an adapter's */
    int adds;                         /* see tape.h */
    double dropout, adapter_dropout;
    bool frozen, autocast, flash, expanded_kv, elementwise_gelu, mean_keeps_input, plain_adapter;
    bool packed_frozen, keeps_inputs; /* see recipe.h */
    bool on_host, checkpoints_on_host;
    bool recomputes;                  /* checkpoint around each layer */
    bool noise;                       /* dropout keeps its noise in the type of its input, not a mask */
    bool whole_logits, narrow_logits; /* the loss keeps them, in their own type */
    bool old_loss;                    /* logits are shifted, not labels */
} gp_step_case;

/* Replays of one call, for a plan asks for the same ones again and again: of one shape, the last few. All zero: none. */
enum { GP_REPLAYS_MAX = 16 };
struct gp_replays {
    gp_shape shape;
    int count, oldest;
    struct { gp_step_case of; gp_eager_step step; bool finished; } rows[GP_REPLAYS_MAX];
};

/* False for jobs whose code is not known operator by operator. Known are transformers' eager kernels, Llama-like and
 * GPT-2 layers, without tensor, context or pipeline parallelism, with full recomputation or none. What job->replays
 * holds is not replayed again. */
bool gp_eager_replay(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_eager_step *step);

/* The replay itself; false when it is too long for the tape. */
bool gp_replay_step(const gp_step_case *of, const gp_model *model, gp_eager_step *step);

/* True when the code of the model's layers in transformers is known operator by operator. That of others is replayed as
 * Llama's or GPT-2's, an estimate. */
bool gp_layers_are_known(const gp_model *model);

/* True when gradients outlive a pass: several micro-batches add to them, or one buffer holds them throughout. Else they
 * grow while activations shrink, and are whole at the end of backward, when the first layer is left. */
bool gp_gradients_last(const gp_layout *layout);

#endif
