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
    uint32_t code;               /* GP_CODE_* of the shape */
    int tables;                  /* storage of cosines and sines */
    int copy_count;
    int16_t copies[GP_COPIES_MAX];
} gp_replayer;

/* What attention works on: elements of the micro-batch. */
typedef struct {
    uint64_t query, output, scores, head_dim;
    bool repeats, expands; /* keys are repeated to every query head; one head without a copy until a product needs it */
} gp_attention_sizes;

static inline gp_value *gp_step_value(gp_replayer *step, int value) { return &step->tape->values[value]; }
/* x in elements of so many bytes: itself, or a copy. */
int gp_step_cast(gp_replayer *step, int x, int size);
/* A norm over rows of `width`. */
int gp_step_norm(gp_replayer *step, int x, uint64_t width);
/* x in fp32, divided by the root mean square of its row. */
int gp_step_normalised(gp_replayer *step, int x, uint64_t width);
/* x times a weight of inputs * outputs in the stored size, with a bias or without. */
int gp_step_product(gp_replayer *step, int x, uint64_t inputs, uint64_t outputs, bool bias, int stored, bool trained);
/* A product with a weight of the layer, with its adapter when those of `target` have one. */
int gp_step_projection(gp_replayer *step, int x, uint64_t inputs, uint64_t outputs, bool bias, unsigned target);
/* A matrix of the layer. */
int gp_step_matrix(gp_replayer *step, int x, gp_tensor tensor);
int gp_step_dropout(gp_replayer *step, int x, double rate);
/* Of embeddings or of a block's result, in the families that have it; ends the name of x. */
int gp_step_block_dropout(gp_replayer *step, int x);
/* Queries or keys times the tables, in `size` bytes. */
int gp_step_rotated(gp_replayer *step, int x, int size, int tables);
/* Attention and its output projection. Names of the three stay the caller's. */
int gp_step_attend(gp_replayer *step, int query, int key, int value, const gp_attention_sizes *size);
/* activations_latent.c, which the module that the page starts with does without. */
int gp_step_latent_attention(gp_replayer *step, int x);
/* A layer of the Llama and GPT families: the next residual stream. Names of x end with the caller. */
int gp_step_layer(gp_replayer *step, int x);
/* down(act(gate(x)) * up(x)), or down(act(up(x))). */
int gp_step_gated_block(gp_replayer *step, int x, gp_tensor gate, gp_tensor up, gp_tensor down);
/* The feed-forward block, dense or with experts. */
int gp_step_feed_forward(gp_replayer *step, int x);
/* activations_variants.c, which the module that the page starts with does without (wasm/first_view.c). */
/* A norm that multiplies in fp32, by its weight or by 1 + its weight. */
int gp_step_wide_norm(gp_replayer *step, int x, uint64_t width);
/* LayerNorm operator by operator, in fp32. */
int gp_step_centred_norm(gp_replayer *step, int x, uint64_t width);
/* Queries, keys and values as views of one product, and gate and up. */
void gp_step_fused_qkv(gp_replayer *step, int x, int *query, int *key, int *value);
void gp_step_fused_gate_up(gp_replayer *step, int x, int *gate, int *up);
/* Queries and keys rotated in fp32, then in their own type. Names of both stay the caller's. */
void gp_step_rotate_wide(gp_replayer *step, int query, int key, int *turned, int *turned_key);
/* x bounded by tanh(x / cap) * cap; ends the name of x. */
int gp_step_capped(gp_replayer *step, int x);
/* x times a number; ends the name of x. */
int gp_step_multiplied(gp_replayer *step, int x);
/* Embeddings times a number. x stays the caller's name. */
int gp_step_scaled_embedding(gp_replayer *step, int x);
/* Bytes of a token's cosines, and as many of its sines. */
uint64_t gp_step_table_width(const gp_replayer *step);
/* Shared experts beside the sum of what the chosen ones give, whose name ends. */
int gp_step_with_shared(gp_replayer *step, int x, int sum);
/* Copies of weights that are there until autocast's context ends. */
void gp_step_remember(gp_replayer *step, int copy);
/* Releases them: it ends. */
void gp_step_end_autocast(gp_replayer *step);
/* What is replayed from here on stands for so many layers. */
void gp_step_stand_for(gp_replayer *step, uint64_t times);

#endif
