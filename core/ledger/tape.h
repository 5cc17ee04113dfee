/* tape.h: a training step replayed operator by operator, in bytes. Each operator makes a value and, where gradients will
 * be asked for, a node that keeps what its backward needs; run backward, the nodes are undone from the last one. What is
 * alive at any moment is known to the byte, as PyTorch's autograd engine would have it: storages with references, kept
 * once however many nodes share them, freed with the last.
 *
 * Layers that are alike need not be replayed one by one: nodes recorded while `times` is above 1 stand for so many, and
 * no peak is looked for among them, since memory grows evenly from the first of them to the last. Those like a layer that
 * is replayed are not replayed at all (gp_tape_repeat). */
#ifndef GP_TAPE_H
#define GP_TAPE_H

#include "base/quantity.h"

/* Operators with backward rules of their own; tape.c has a row for each. */
typedef enum {
    GP_OP_CAST, GP_OP_COPY, GP_OP_HEADS, GP_OP_REPEAT, GP_OP_ADD, GP_OP_SCALAR, GP_OP_STATISTICS, GP_OP_NORMALISE,
    GP_OP_NORM_WEIGHT, GP_OP_LAYER_NORM, GP_OP_PRODUCT, GP_OP_MATMUL, GP_OP_ROTARY, GP_OP_WHERE, GP_OP_SOFTMAX,
    GP_OP_DROPOUT, GP_OP_NOISE, GP_OP_FLASH, GP_OP_SILU, GP_OP_GELU, GP_OP_POWER, GP_OP_TANH, GP_OP_MULTIPLY,
    GP_OP_GATHER, GP_OP_SPLIT, GP_OP_CONCAT,
    GP_OP_EMBEDDING, GP_OP_SHIFT, GP_OP_LOSS, GP_OP_NLL, GP_OP_COUNT
} gp_op;

/* What live bytes are, for the items of the ledger. */
typedef enum { GP_HELD_WORKING, GP_HELD_KEPT, GP_HELD_LOGITS, GP_HELD_GRADIENTS, GP_HELD_COUNT } gp_held;

typedef struct {
    uint64_t bytes;                /* all that is alive, without what was there before the step */
    uint64_t held[GP_HELD_COUNT];  /* its parts */
} gp_moment;

/* Beyond these a replay is not finished: the tape says that it is `full`. */
enum { GP_STORAGES_MAX = 480, GP_VALUES_MAX = 900, GP_NODES_MAX = 600, GP_KEPT_MAX = 5, GP_NOTHING = -1 };

typedef struct {
    uint64_t bytes;
    int16_t references, next; /* the next that is free */
    uint8_t held;
    bool kept, constant; /* counted as saved; never counted (tables, masks) */
} gp_storage;

typedef struct {
    uint64_t elements;
    int16_t storage, gradient; /* of the gradient once there is one */
    uint8_t size, held;        /* bytes per element; what its storage and its gradient are */
    bool wants;                /* its gradient is asked for */
} gp_value;

typedef struct {
    uint8_t op, kept_count;
    int16_t a, b, out;
    int16_t kept[GP_KEPT_MAX];
    uint64_t weight;     /* bytes of the trained weight's gradient, 0 = none */
    uint64_t copy;       /* … which is made at first in 16 bits: bytes of that */
    uint64_t scratch;    /* bytes alive while it runs backward, beyond its rule's */
    int64_t times;
    bool added;          /* the weight has a gradient already: they are added out of place */
    bool waits;          /* … the gradient that such a one is added to */
} gp_node;

typedef struct {
    gp_storage storages[GP_STORAGES_MAX];
    gp_value values[GP_VALUES_MAX];
    gp_node nodes[GP_NODES_MAX];
    int storage_count, value_count, node_count, free;
    bool full;
    bool recording;      /* nodes are made: false in a forward that is computed again later */
    bool quiet;          /* no peak is looked for */
    gp_held results;     /* what results of operators are */
    int64_t times;       /* layers that what is replayed now stands for */
    uint64_t beside;     /* layers like the one that runs backward now … */
    uint64_t later;      /* … and their gradients of weights */
    uint64_t shards;     /* GPUs that divide the gradients of weights; 0: they are there before */
    bool adds;           /* what is made is added to them: a temporary */
    uint64_t saved;      /* bytes kept for backward, constants not counted */
    uint64_t saved_by[GP_OP_COUNT + 1]; /* by the operator that is the first to keep them, in all; checkpoints last */
    int keeper;          /* the operator of the node that keeps now, GP_OP_COUNT = none */
    gp_moment now, peak; /* the peak since gp_tape_reset_peak */
} gp_tape;

/* What there was at some time. */
typedef struct {
    gp_moment now, peak;
    uint64_t saved_by[GP_OP_COUNT + 1];
} gp_tape_mark;

/* "softmax"; GP_OP_COUNT: "checkpoint". */
const char *gp_op_key(int op);

void gp_tape_start(gp_tape *tape);
void gp_tape_reset_peak(gp_tape *tape);

/* A value of its own storage. It is referred to once, by the name it has in the program: gp_tape_drop ends that. */
int gp_tape_value(gp_tape *tape, uint64_t elements, int size, gp_held held);
/* Another name of the same value; returns it. */
int gp_tape_share(gp_tape *tape, int value);
void gp_tape_drop(gp_tape *tape, int value);
/* Memory of no value, such as the 16-bit copy of a weight; `drop` with gp_tape_release. */
int gp_tape_hold(gp_tape *tape, uint64_t bytes, gp_held held);
void gp_tape_release(gp_tape *tape, int slot);
/* Keeps a storage for backward until it is released. Counts towards `saved` once. */
void gp_tape_keep(gp_tape *tape, int slot);
/* Allocates and frees at once. */
void gp_tape_touch(gp_tape *tape, uint64_t bytes);

/* An operator over a (and b, GP_NOTHING for none), with a result of so many elements in `size` bytes each. Its node
 * stands last on the tape, for those that have more to keep. Without recording, or when no gradient is asked for, there
 * is no node (NULL from gp_tape_node). */
int gp_tape_apply(gp_tape *tape, gp_op op, int a, int b, uint64_t elements, int size, bool trained);
/* The same with a result in the storage of another value: a view, or an operator that works in place. */
int gp_tape_view(gp_tape *tape, gp_op op, int a, int b, int storage_of, uint64_t elements);
gp_node *gp_tape_node(gp_tape *tape, int value);
/* The node keeps a storage. */
void gp_node_keep(gp_tape *tape, gp_node *node, int storage);

/* The gradient of a weight whose product is not on the tape is made. */
void gp_tape_add_gradient(gp_tape *tape, uint64_t bytes);
/* Gives a value its gradient, as the storage of another or GP_NOTHING for a new one. */
void gp_tape_seed(gp_tape *tape, int value, int storage);
/* Runs the nodes after the first `count` backward and takes them off the tape. */
void gp_tape_backward(gp_tape *tape, int count);

/* Notes what there is, and looks for the peak from here on. */
void gp_tape_set_mark(gp_tape *tape, gp_tape_mark *mark);
/* Makes it as though what happened since the mark had happened so many times before, with a storage for all that was
 * kept. Working memory that stayed, in a storage of its own, may be there more often. */
void gp_tape_repeat(gp_tape *tape, const gp_tape_mark *mark, uint64_t times, uint64_t working_times, int *kept,
                    int *working);
/* Backward of the repeated layers after the one whose nodes ran while tape->beside was their number: releases what they
 * kept, and their gradients of weights (tape->later) are there. */
void gp_tape_end_repeat(gp_tape *tape, int kept);
/* A peak as far above what is there now as one was above what was there then. */
void gp_tape_reach(gp_tape *tape, const gp_moment *peak, const gp_moment *then);

#endif
