#include "ledger/tape.h"

#include <stddef.h>
#include <string.h>

/* What an operator keeps, and what its backward holds beside gradients of its inputs. Bits of `keeps`: its inputs for
 * its own gradient, each input for the other's, its result, its input for a trained weight. */
enum { KEEPS_A = 1, KEEPS_OTHER = 2, KEEPS_OUT = 4, KEEPS_FOR_WEIGHT = 8, ALIAS_BACK = 16, SCALAR_KEPT = 32 };

typedef struct {
    uint8_t keeps;
    uint8_t forward, backward; /* tensors of the size of a beside those that remain: in halves */
} rule;

/* Source of what is kept: github.com/pytorch/pytorch tools/autograd/derivatives.yaml, the entry of each operator; of the
 * temporaries: torch/csrc/autograd/FunctionsManual.cpp. ALIAS_BACK: the gradient passes through without a copy. */
static const rule rules[GP_OP_COUNT] = {
    [GP_OP_CAST] = {0, 0, 0},                             /* _to_copy */
    [GP_OP_COPY] = {ALIAS_BACK, 0, 0},                    /* clone of a permuted view, for a batched product */
    [GP_OP_HEADS] = {0, 0, 0},                            /* view, transpose; backward copies what is permuted */
    [GP_OP_REPEAT] = {0, 0, 0},                           /* expand, reshape; backward sums over the copies */
    [GP_OP_ADD] = {ALIAS_BACK, 0, 0},                     /* add */
    [GP_OP_SCALAR] = {SCALAR_KEPT, 0, 0},                 /* mul by a number, kept as a tensor of no dimension */
    [GP_OP_STATISTICS] = {KEEPS_A | KEEPS_OUT, 2, 6},     /* pow, mean, add, rsqrt; pow's derivative is 2 x g */
    [GP_OP_NORMALISE] = {KEEPS_OTHER, 0, 2},              /* mul by a value per token; its gradient is summed */
    [GP_OP_NORM_WEIGHT] = {KEEPS_FOR_WEIGHT, 0, 2},       /* mul by the weight; its gradient is summed */
    [GP_OP_LAYER_NORM] = {KEEPS_A, 0, 0},                 /* native_layer_norm */
    [GP_OP_PRODUCT] = {KEEPS_FOR_WEIGHT, 0, 0},           /* mm, addmm */
    [GP_OP_MATMUL] = {KEEPS_OTHER, 0, 0},                 /* bmm */
    [GP_OP_ROTARY] = {0, 4, 4},                           /* mul, neg, cat, mul, add over tables */
    [GP_OP_WHERE] = {0, 0, 0},                            /* where: the mask is a buffer */
    [GP_OP_SOFTMAX] = {KEEPS_OUT, 0, 0},                  /* _softmax */
    [GP_OP_DROPOUT] = {0, 0, 0},                          /* native_dropout: a mask of one byte */
    [GP_OP_NOISE] = {0, 0, 0},                            /* dropout out of mul: the noise in the type of its input */
    [GP_OP_FLASH] = {KEEPS_A | KEEPS_OUT, 0, 0},          /* _scaled_dot_product_flash_attention */
    [GP_OP_SILU] = {KEEPS_A, 0, 0},                       /* silu */
    [GP_OP_GELU] = {KEEPS_A, 0, 0},                       /* gelu */
    [GP_OP_POWER] = {KEEPS_A, 0, 4},                      /* pow by 3: 3 x^2 g */
    [GP_OP_TANH] = {KEEPS_OUT, 0, 0},                     /* tanh */
    [GP_OP_MULTIPLY] = {KEEPS_OTHER, 0, 0},               /* mul */
    [GP_OP_GATHER] = {0, 0, 0},                           /* index, index_add */
    [GP_OP_SPLIT] = {0, 0, 0},                            /* split: one concatenation gives the gradient */
    [GP_OP_CONCAT] = {0, 0, 0},                           /* cat: each part has a copy of its gradient */
    [GP_OP_EMBEDDING] = {0, 0, 0},                        /* embedding */
    [GP_OP_SHIFT] = {0, 0, 0},                            /* slice, contiguous */
    [GP_OP_LOSS] = {KEEPS_OUT, 0, 0},                     /* _log_softmax */
    [GP_OP_NLL] = {0, 0, 0},                              /* nll_loss_forward: its input is the result above */
};

const char *gp_op_key(int op) {
    static const char *const keys[GP_OP_COUNT + 1] = {
        "cast", "copy", "heads", "repeat", "add", "scalar", "norm_statistics", "norm_scale", "norm_weight", "layer_norm",
        "linear", "matmul", "rotary", "mask", "softmax", "dropout", "dropout_noise", "flash_attention", "silu", "gelu",
        "power", "tanh", "multiply", "gather", "split", "concat", "embedding", "shift", "log_softmax", "nll_loss",
        "checkpoint"};
    return op >= 0 && op <= GP_OP_COUNT ? keys[op] : "";
}

/* Each part is at most the whole, so one check is enough for both. What has overflowed stays so. */
static inline void grow(gp_tape *tape, gp_held held, uint64_t bytes) {
    if (bytes > UINT64_MAX - tape->now.bytes) {
        tape->now.bytes = tape->now.held[held] = UINT64_MAX;
    } else {
        tape->now.bytes += bytes;
        tape->now.held[held] += bytes;
    }
    if (!tape->quiet && tape->now.bytes > tape->peak.bytes) tape->peak = tape->now;
}

static inline void shrink(gp_tape *tape, gp_held held, uint64_t bytes) {
    if (gp_overflowed(tape->now.bytes)) return;
    tape->now.bytes -= bytes;
    tape->now.held[held] -= bytes;
}

void gp_tape_start(gp_tape *tape) {
    tape->storage_count = tape->value_count = tape->node_count = 0;
    tape->free = GP_NOTHING;
    tape->full = false;
    tape->recording = true;
    tape->quiet = false;
    tape->results = GP_HELD_WORKING;
    tape->times = 1;
    tape->shards = 1;
    tape->beside = tape->later = 0;
    tape->adds = false;
    tape->saved = 0;
    tape->keeper = GP_OP_COUNT;
    for (int op = 0; op <= GP_OP_COUNT; op++) tape->saved_by[op] = 0;
    tape->now = tape->peak = (gp_moment){.bytes = 0};
}

void gp_tape_reset_peak(gp_tape *tape) { tape->peak = tape->now; }

/* Elements of a few bytes each, saturating far beyond what a report carries. */
static inline uint64_t sized(uint64_t elements, uint8_t size) {
    return elements >> 56 == 0 ? elements * size : UINT64_MAX;
}

static inline uint64_t repeated(uint64_t bytes, int64_t times) {
    return times == 1 ? bytes : gp_mul(bytes, (uint64_t)times);
}

static int free_slot(gp_tape *tape) {
    int slot = tape->free;
    if (slot >= 0)
        tape->free = tape->storages[slot].next;
    else if (tape->storage_count < GP_STORAGES_MAX)
        slot = tape->storage_count++;
    else
        tape->full = true;
    return slot >= 0 ? slot : GP_STORAGES_MAX - 1;
}

static inline int hold(gp_tape *tape, uint64_t bytes, gp_held held) {
    int slot = free_slot(tape);
    tape->storages[slot] = (gp_storage){.bytes = bytes, .references = 1, .held = (uint8_t)held};
    grow(tape, held, bytes);
    return slot;
}

int gp_tape_hold(gp_tape *tape, uint64_t bytes, gp_held held) { return hold(tape, bytes, held); }

static void give_back(gp_tape *tape, int slot) {
    gp_storage *storage = &tape->storages[slot];
    shrink(tape, (gp_held)storage->held, storage->bytes);
    if (storage->kept) tape->saved = gp_sub_or_zero(tape->saved, storage->bytes);
    storage->next = (int16_t)tape->free;
    tape->free = slot;
}

static inline void release(gp_tape *tape, int slot) {
    if (slot >= 0 && !tape->full && --tape->storages[slot].references == 0) give_back(tape, slot);
}

void gp_tape_release(gp_tape *tape, int slot) { release(tape, slot); }

void gp_tape_touch(gp_tape *tape, uint64_t bytes) {
    grow(tape, GP_HELD_WORKING, bytes);
    shrink(tape, GP_HELD_WORKING, bytes);
}

/* Kept by a node that stands for several layers, it is there in each of them. */
void gp_tape_keep(gp_tape *tape, int slot) {
    gp_storage *storage = &tape->storages[slot];
    storage->references++;
    if (storage->kept || storage->constant) return;
    uint64_t bytes = repeated(storage->bytes, tape->times);
    shrink(tape, (gp_held)storage->held, storage->bytes);
    if (storage->held == GP_HELD_WORKING) storage->held = GP_HELD_KEPT;
    storage->bytes = bytes;
    storage->kept = true;
    grow(tape, (gp_held)storage->held, bytes);
    tape->saved = gp_add(tape->saved, bytes);
    tape->saved_by[tape->keeper] = gp_add(tape->saved_by[tape->keeper], bytes);
}

static int name(gp_tape *tape, gp_value value) {
    int slot = tape->value_count < GP_VALUES_MAX ? tape->value_count++ : GP_VALUES_MAX - 1;
    tape->full = tape->full || slot == GP_VALUES_MAX - 1;
    tape->values[slot] = value;
    return slot;
}

int gp_tape_value(gp_tape *tape, uint64_t elements, int size, gp_held held) {
    int storage = hold(tape, sized(elements, (uint8_t)size), held);
    return name(tape, (gp_value){elements, (int16_t)storage, GP_NOTHING, (uint8_t)size, (uint8_t)held, false});
}

int gp_tape_share(gp_tape *tape, int value) {
    tape->storages[tape->values[value].storage].references++;
    return value;
}

void gp_tape_drop(gp_tape *tape, int value) {
    if (value >= 0) release(tape, tape->values[value].storage);
}

void gp_node_keep(gp_tape *tape, gp_node *node, int storage) {
    if (node == NULL) return;
    tape->keeper = node->op;
    gp_tape_keep(tape, storage);
    tape->keeper = GP_OP_COUNT;
    node->kept[node->kept_count < GP_KEPT_MAX ? node->kept_count++ : GP_KEPT_MAX - 1] = (int16_t)storage;
}

gp_node *gp_tape_node(gp_tape *tape, int value) {
    if (tape->node_count == 0) return NULL;
    gp_node *node = &tape->nodes[tape->node_count - 1];
    return node->out == value ? node : NULL;
}

static bool wants(const gp_tape *tape, int value) { return value >= 0 && tape->values[value].wants; }

static void keep_inputs(gp_tape *tape, gp_node *node, bool trained) {
    unsigned keeps = rules[node->op].keeps;
    bool both = (keeps & KEEPS_OTHER) != 0;
    bool a = (keeps & KEEPS_A) != 0 || (both && wants(tape, node->b)) || ((keeps & KEEPS_FOR_WEIGHT) != 0 && trained);
    if (a) gp_node_keep(tape, node, tape->values[node->a].storage);
    if (both && wants(tape, node->a)) gp_node_keep(tape, node, tape->values[node->b].storage);
    if ((keeps & KEEPS_OUT) != 0) gp_node_keep(tape, node, tape->values[node->out].storage);
    if ((keeps & SCALAR_KEPT) == 0) return;
    int number = hold(tape, sizeof(double), GP_HELD_WORKING);
    gp_node_keep(tape, node, number);
    release(tape, number);
}

static void record(gp_tape *tape, gp_op op, int a, int b, int out, bool trained) {
    if (!tape->recording || !(trained || wants(tape, a) || wants(tape, b))) return;
    tape->values[out].wants = true;
    int slot = tape->node_count < GP_NODES_MAX ? tape->node_count++ : GP_NODES_MAX - 1;
    tape->full = tape->full || slot == GP_NODES_MAX - 1;
    gp_node *node = &tape->nodes[slot];
    *node = (gp_node){.op = (uint8_t)op, .a = (int16_t)a, .b = (int16_t)b, .out = (int16_t)out, .times = tape->times};
    keep_inputs(tape, node, trained);
}

int gp_tape_apply(gp_tape *tape, gp_op op, int a, int b, uint64_t elements, int size, bool trained) {
    const gp_value *input = &tape->values[a];
    int scratch = GP_NOTHING;
    if (rules[op].forward > 0) {
        uint64_t bytes = sized(elements > input->elements ? elements : input->elements, (uint8_t)size);
        scratch = hold(tape, gp_mul(bytes, rules[op].forward) / 2, GP_HELD_WORKING);
    }
    int out = gp_tape_value(tape, elements, size, tape->results);
    release(tape, scratch);
    record(tape, op, a, b, out, trained);
    return out;
}

int gp_tape_view(gp_tape *tape, gp_op op, int a, int b, int storage_of, uint64_t elements) {
    gp_value view = tape->values[storage_of];
    tape->storages[view.storage].references++;
    view.elements = elements;
    view.gradient = GP_NOTHING;
    view.wants = false;
    int out = name(tape, view);
    record(tape, op, a, b, out, false);
    return out;
}

/* A second gradient is added to the first, out of place: torch/csrc/autograd/input_buffer.cpp. */
static void accumulate(gp_tape *tape, int value, int storage) {
    gp_value *to = &tape->values[value];
    if (to->gradient < 0) {
        to->gradient = (int16_t)storage;
        return;
    }
    int sum = hold(tape, sized(to->elements, to->size), (gp_held)to->held);
    release(tape, to->gradient);
    release(tape, storage);
    to->gradient = (int16_t)sum;
}

static int gradient_of(gp_tape *tape, int value) {
    const gp_value *to = &tape->values[value];
    return hold(tape, sized(to->elements, to->size), (gp_held)to->held);
}

void gp_tape_seed(gp_tape *tape, int value, int storage) {
    if (storage >= 0) tape->storages[storage].references++;
    tape->values[value].gradient = (int16_t)(storage >= 0 ? storage : gradient_of(tape, value));
}

/* The gradient that a node passes to an input that wants one: a new storage, or the result's own. */
static int passed_to(gp_tape *tape, const gp_node *node, int input) {
    if (node->op == GP_OP_SPLIT && tape->values[input].gradient >= 0) return GP_NOTHING;
    const gp_value *out = &tape->values[node->out];
    bool same = tape->values[input].size == out->size && tape->values[input].elements == out->elements;
    if ((rules[node->op].keeps & ALIAS_BACK) == 0 || !same) return gradient_of(tape, input);
    tape->storages[out->gradient].references++;
    return out->gradient;
}

/* Gradients of weights stay. One of a weight's 16-bit copy is there beside the whole one that is made of it; one of a
 * table that is the output matrix, too, is added to the other's. */
static void keep_gradient(gp_tape *tape, const gp_node *node, uint64_t times) {
    if (tape->shards == 0 || node->weight == 0) return;
    uint64_t bytes = repeated(node->weight, (int64_t)times);
    grow(tape, GP_HELD_GRADIENTS, tape->shards == 1 ? bytes : bytes / tape->shards);
    if (tape->beside > 0) tape->later = gp_add(tape->later, gp_mul(bytes, tape->beside) / tape->shards);
}

void gp_tape_add_gradient(gp_tape *tape, uint64_t bytes) {
    if (tape->shards > 0) grow(tape, GP_HELD_GRADIENTS, bytes / tape->shards);
    if (tape->adds) gp_tape_touch(tape, bytes);
}

static void make_gradient(gp_tape *tape, const gp_node *node, uint64_t times) {
    if (node->copy == 0) keep_gradient(tape, node, times);
}

static void finish_gradient(gp_tape *tape, const gp_node *node, uint64_t times) {
    if (node->copy > 0) keep_gradient(tape, node, times);
    if (!node->added || tape->shards != 1) return;
    gp_tape_touch(tape, node->weight);
    shrink(tape, GP_HELD_GRADIENTS, node->weight);
}

/* A gradient that is added to the one of the micro-batches before, in place, once nothing else is to be added to it. */
static int fresh_gradient(gp_tape *tape, const gp_node *node) {
    return tape->adds && node->weight > 0 ? hold(tape, node->weight, GP_HELD_WORKING) : GP_NOTHING;
}

static void end_gradient(gp_tape *tape, const gp_node *node, int fresh) {
    if (fresh < 0 || node->waits) return;
    if (node->added) {
        gp_tape_touch(tape, node->weight);
        shrink(tape, GP_HELD_WORKING, node->weight);
    }
    release(tape, fresh);
}

static void release_kept(gp_tape *tape, const gp_node *node) {
    for (int i = 0; i < node->kept_count; i++) release(tape, node->kept[i]);
}

/* A product of unlike types is formed in the wider one; a gradient of the narrower input is a copy of that. */
static uint64_t scratch_of(const gp_tape *tape, const gp_node *node) {
    const gp_value *a = &tape->values[node->a], *out = &tape->values[node->out];
    if (rules[node->op].backward == 0 && node->op != GP_OP_MULTIPLY) return 0;
    uint64_t widest = sized(a->elements, a->size > out->size ? a->size : out->size);
    bool cast = node->op == GP_OP_MULTIPLY && a->size < out->size;
    return gp_add(gp_mul(widest, rules[node->op].backward) / 2, cast ? widest : 0);
}

/* Gives the storage of the gradient of a weight's 16-bit copy, GP_NOTHING for none. */
static int undo(gp_tape *tape, const gp_node *node) {
    gp_value *out = &tape->values[node->out];
    if (out->gradient < 0) {
        release_kept(tape, node);
        return GP_NOTHING;
    }
    uint64_t times = (uint64_t)node->times;
    tape->quiet = times > 1;
    int first = wants(tape, node->a) ? passed_to(tape, node, node->a) : GP_NOTHING;
    int second = wants(tape, node->b) ? passed_to(tape, node, node->b) : GP_NOTHING;
    int narrow = node->copy > 0 ? hold(tape, gp_mul(node->copy, times), GP_HELD_WORKING) : GP_NOTHING;
    int fresh = node->copy == 0 ? fresh_gradient(tape, node) : GP_NOTHING;
    make_gradient(tape, node, times);
    uint64_t scratch = gp_add(scratch_of(tape, node), node->scratch);
    if (scratch > 0) gp_tape_touch(tape, scratch);
    release(tape, out->gradient);
    out->gradient = GP_NOTHING;
    release_kept(tape, node);
    if (first >= 0) accumulate(tape, node->a, first);
    if (second >= 0) accumulate(tape, node->b, second);
    if (narrow < 0) finish_gradient(tape, node, times);
    end_gradient(tape, node, fresh);
    return narrow;
}

/* The input of a product is cast after its weight, so its gradient is cast back before that of the weight's copy: nodes
 * run from the youngest on. */
static void undo_last(gp_tape *tape, int count) {
    const gp_node *node = &tape->nodes[--tape->node_count];
    int narrow = undo(tape, node);
    if (narrow < 0) return;
    const gp_node *before = node - 1;
    if (tape->node_count > count && before->op == GP_OP_CAST && before->out == node->a) {
        (void)undo(tape, before);
        tape->node_count--;
    }
    int fresh = fresh_gradient(tape, node);
    finish_gradient(tape, node, (uint64_t)node->times);
    release(tape, narrow);
    end_gradient(tape, node, fresh);
}

void gp_tape_backward(gp_tape *tape, int count) {
    bool quiet = tape->quiet;
    while (tape->node_count > count) {
        undo_last(tape, count);
        tape->quiet = quiet;
    }
}

void gp_tape_set_mark(gp_tape *tape, gp_tape_mark *mark) {
    mark->now = tape->now;
    mark->peak = tape->peak;
    memcpy(mark->saved_by, tape->saved_by, sizeof mark->saved_by);
    gp_tape_reset_peak(tape);
}

/* Bytes that were there all the time since the peak that was found last, and are still. */
static int hold_before(gp_tape *tape, uint64_t bytes, gp_held held) {
    gp_moment peak = tape->peak;
    int slot = hold(tape, bytes, held);
    peak.held[held] = gp_add(peak.held[held], bytes);
    peak.bytes = gp_add(peak.bytes, bytes);
    tape->peak = peak;
    return slot;
}

static uint64_t more_of(const gp_tape *tape, const gp_tape_mark *mark, gp_held held, uint64_t times) {
    return gp_mul(gp_sub_or_zero(tape->now.held[held], mark->now.held[held]), times);
}

void gp_tape_repeat(gp_tape *tape, const gp_tape_mark *mark, uint64_t times, uint64_t working_times, int *kept,
                    int *working) {
    uint64_t keeps = more_of(tape, mark, GP_HELD_KEPT, times);
    *working = hold_before(tape, more_of(tape, mark, GP_HELD_WORKING, working_times), GP_HELD_WORKING);
    *kept = hold_before(tape, keeps, GP_HELD_KEPT);
    tape->storages[*kept].kept = true;
    tape->saved = gp_add(tape->saved, keeps);
    for (int op = 0; op <= GP_OP_COUNT; op++)
        tape->saved_by[op] = gp_add(tape->saved_by[op], gp_mul(tape->saved_by[op] - mark->saved_by[op], times));
    if (tape->peak.bytes <= mark->peak.bytes) tape->peak = mark->peak;
}

void gp_tape_end_repeat(gp_tape *tape, int kept) {
    gp_moment peak = tape->peak;
    release(tape, kept);
    grow(tape, GP_HELD_GRADIENTS, tape->later);
    tape->peak = peak;
    tape->beside = tape->later = 0;
}

static uint64_t moved(uint64_t peak, uint64_t then, uint64_t now) {
    return gp_overflowed(peak) || gp_overflowed(now) ? UINT64_MAX : now + (peak - then);
}

void gp_tape_reach(gp_tape *tape, const gp_moment *peak, const gp_moment *then) {
    gp_moment reached = {.bytes = moved(peak->bytes, then->bytes, tape->now.bytes)};
    for (int i = 0; i < GP_HELD_COUNT; i++) reached.held[i] = moved(peak->held[i], then->held[i], tape->now.held[i]);
    if (reached.bytes > tape->peak.bytes) tape->peak = reached;
}
