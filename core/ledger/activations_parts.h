/* activations_parts.h: how the layers of transformers are written, operator by operator, on a tape. Private to
 * activations_*.c. */
#ifndef GP_ACTIVATIONS_PARTS_H
#define GP_ACTIVATIONS_PARTS_H

#include "ledger/activations.h"
#include "ledger/tape.h"

/* Copies of weights that autocast keeps until the forward pass is over; more than these are not remembered. */
enum { GP_COPIES_MAX = 160 };

typedef struct {
    gp_tape *tape;
    const gp_step_case *of;
    const gp_shape *shape;
    const gp_layer *layer;       /* the one being replayed */
    uint64_t tokens;             /* of the micro-batch */
    int stream, product;         /* bytes of an element between the layers, of a matrix product's result */
    bool rms, gpt;               /* norms without a mean; GPT-2's attention and dropouts */
    int tables;                  /* storage of cosines and sines */
    int copy_count;
    int16_t copies[GP_COPIES_MAX];
} gp_step;

static inline gp_value *gp_step_value(gp_step *step, int value) { return &step->tape->values[value]; }
/* x in elements of so many bytes: itself, or a copy. */
int gp_step_cast(gp_step *step, int x, int size);
/* A norm over rows of `width`. */
int gp_step_norm(gp_step *step, int x, uint64_t width);
/* x times a weight of inputs * outputs in the stored size, with a bias or without. */
int gp_step_product(gp_step *step, int x, uint64_t inputs, uint64_t outputs, bool bias, int stored, bool trained);
/* A product with a weight of the layer, with its adapter when those of `target` have one. */
int gp_step_projection(gp_step *step, int x, uint64_t inputs, uint64_t outputs, bool bias, unsigned target);
/* A matrix of the layer. */
int gp_step_matrix(gp_step *step, int x, gp_tensor tensor);
int gp_step_dropout(gp_step *step, int x, double rate);
/* A layer of the Llama and GPT families: the next residual stream. Names of x end with the caller. */
int gp_step_layer(gp_step *step, int x);
/* The feed-forward block, dense or with experts. */
int gp_step_feed_forward(gp_step *step, int x);
/* Copies of weights that are there until autocast's context ends. */
void gp_step_remember(gp_step *step, int copy);
/* Releases them: it ends. */
void gp_step_end_autocast(gp_step *step);
/* What is replayed from here on stands for so many layers. */
void gp_step_stand_for(gp_step *step, uint64_t times);

#endif
