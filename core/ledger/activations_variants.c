/* activations_variants.c: operators of layers that transformers writes otherwise than Llama's (GP_CODE_* in
 * config/shape.h). Order of the operators: github.com/huggingface/transformers modeling_gemma.py, modeling_gemma2.py,
 * modeling_gemma3.py, modeling_olmo2.py. */
#include "ledger/activations_parts.h"

#include <stddef.h>

static int replace(gp_replayer *step, int old, int next) {
    gp_tape_drop(step->tape, old);
    return next;
}

static int map(gp_replayer *step, gp_op op, int x) {
    const gp_value *value = gp_step_value(step, x);
    return gp_tape_apply(step->tape, op, x, GP_NOTHING, value->elements, value->size, false);
}

/* normed * factor in fp32, then in `size` bytes: the factor, where it is a tensor of its own, is kept for the gradient of
 * what is normed; the weight's gradient is made in fp32 first. */
static int weighted(gp_replayer *step, int normed, int factor, uint64_t width, int size) {
    gp_tape *tape = step->tape;
    uint64_t elements = gp_step_value(step, normed)->elements;
    int out = gp_tape_apply(tape, GP_OP_NORM_WEIGHT, normed, GP_NOTHING, elements, 4, !step->of->frozen);
    gp_node *node = gp_tape_node(tape, out);
    if (node != NULL && !step->of->frozen) {
        node->weight = gp_mul(width, (uint64_t)step->of->stored);
        node->copy = step->of->stored < 4 ? gp_mul(width, 4) : 0;
    }
    if (factor >= 0) gp_node_keep(tape, node, factor);
    gp_tape_release(tape, factor);
    gp_tape_drop(tape, normed);
    return replace(step, out, gp_step_cast(step, out, size));
}

/* (normalised * (1 + weight.float())).type_as(x), or (weight * normalised).to(its type). */
int gp_step_wide_norm(gp_replayer *step, int x, uint64_t width) {
    bool adds_one = (step->code & GP_CODE_NORM_ADDS_ONE) != 0;
    int size = gp_step_value(step, x)->size, normed = gp_step_normalised(step, x, width);
    int factor = adds_one ? gp_tape_hold(step->tape, gp_mul(width, 4), GP_HELD_WORKING) : GP_NOTHING;
    return weighted(step, normed, factor, width, size);
}

/* centred = x - mean, twice: its squares' mean gives the deviation, by which it is divided; weight.float() * normed. */
int gp_step_centred_norm(gp_replayer *step, int x, uint64_t width) {
    gp_tape *tape = step->tape;
    uint64_t elements = gp_step_value(step, x)->elements;
    int size = gp_step_value(step, x)->size, wide = gp_step_cast(step, x, 4);
    int centred = gp_tape_apply(tape, GP_OP_ADD, wide, GP_NOTHING, elements, 4, false);
    int rows = gp_tape_apply(tape, GP_OP_STATISTICS, centred, GP_NOTHING, elements / width, 4, false);
    centred = replace(step, centred, gp_tape_apply(tape, GP_OP_ADD, wide, GP_NOTHING, elements, 4, false));
    int normed = gp_tape_apply(tape, GP_OP_NORMALISE, centred, rows, elements, 4, false);
    gp_tape_drop(tape, wide);
    gp_tape_drop(tape, centred);
    gp_tape_drop(tape, rows);
    int factor = step->of->stored < 4 ? gp_tape_hold(tape, gp_mul(width, 4), GP_HELD_WORKING) : GP_NOTHING;
    return weighted(step, normed, factor, width, size);
}

/* A slice's gradient has the size of the whole, and the three are added; those of chunks are put together. */
void gp_step_fused_qkv(gp_replayer *step, int x, int *query, int *key, int *value) {
    gp_tape *tape = step->tape;
    const gp_layer_kind *kind = &step->layer->kind;
    uint64_t width = (uint64_t)kind->head_dim, queries = (uint64_t)kind->heads * width, keys = (uint64_t)kind->kv_heads * width;
    uint64_t outputs = queries + 2 * keys;
    int all = gp_step_projection(step, x, (uint64_t)step->shape->hidden, outputs, step->shape->qkv_bias, GP_TARGET_Q);
    gp_op part = (step->code & GP_CODE_CHUNKED_QKV) != 0 ? GP_OP_SPLIT : GP_OP_HEADS;
    *query = gp_tape_view(tape, part, all, GP_NOTHING, all, gp_mul(step->tokens, queries));
    *key = gp_tape_view(tape, part, all, GP_NOTHING, all, gp_mul(step->tokens, keys));
    *value = gp_tape_view(tape, part, all, GP_NOTHING, all, gp_mul(step->tokens, keys));
    gp_tape_drop(tape, all);
}

void gp_step_fused_gate_up(gp_replayer *step, int x, int *gate, int *up) {
    gp_tape *tape = step->tape;
    uint64_t ffn = (uint64_t)step->layer->kind.ffn, half = gp_mul(step->tokens, ffn);
    int all = gp_step_projection(step, x, (uint64_t)step->shape->hidden, 2 * ffn, step->shape->ffn_bias, GP_TARGET_GATE);
    *gate = gp_tape_view(tape, GP_OP_SPLIT, all, GP_NOTHING, all, half);
    *up = gp_tape_view(tape, GP_OP_SPLIT, all, GP_NOTHING, all, half);
    gp_tape_drop(tape, all);
}

/* Cohere's are made wide first, OLMo 2's are by the tables. All are there until both are done. */
void gp_step_rotate_wide(gp_replayer *step, int query, int key, int *turned, int *turned_key) {
    bool first = (step->code & GP_CODE_NORM_CENTRED) != 0;
    int size = gp_step_value(step, query)->size;
    int wide = gp_step_cast(step, query, first ? 4 : size), wide_key = gp_step_cast(step, key, first ? 4 : size);
    int out = gp_step_rotated(step, wide, 4, step->tables), out_key = gp_step_rotated(step, wide_key, 4, step->tables);
    *turned = gp_step_cast(step, out, size);
    *turned_key = gp_step_cast(step, out_key, size);
    gp_tape_drop(step->tape, wide);
    gp_tape_drop(step->tape, wide_key);
    gp_tape_drop(step->tape, out);
    gp_tape_drop(step->tape, out_key);
}

int gp_step_capped(gp_replayer *step, int x) {
    x = replace(step, x, map(step, GP_OP_SCALAR, x));
    x = replace(step, x, map(step, GP_OP_TANH, x));
    return replace(step, x, map(step, GP_OP_SCALAR, x));
}

/* Bytes of a token's cosines: of those that windowed layers have apart, too; of half of a head; in fp32 where the rotation
 * is, but for Cohere's. */
uint64_t gp_step_table_width(const gp_replayer *step) {
    uint64_t size = (uint64_t)step->stream, width = (uint64_t)step->shape->head_dim;
    if ((step->code & GP_CODE_WIDE_ROTARY) != 0 && (step->code & GP_CODE_NORM_CENTRED) == 0) size = 4;
    if ((step->code & GP_CODE_LOCAL_ROTARY) != 0) width *= 2;
    if ((step->code & GP_CODE_COPIES_TABLES) != 0) width /= 2;
    return gp_mul(size, width);
}

static int joined(gp_replayer *step, gp_op op, int a, int b) {
    int size = gp_step_value(step, a)->size;
    int out = gp_tape_apply(step->tape, op, a, b, gp_step_value(step, a)->elements, size, false);
    gp_tape_drop(step->tape, a);
    gp_tape_drop(step->tape, b);
    return out;
}

/* With a gate of one column or without. */
int gp_step_with_shared(gp_replayer *step, int x, int sum) {
    int shared = gp_step_gated_block(step, x, GP_TENSOR_SHARED_GATE, GP_TENSOR_SHARED_UP, GP_TENSOR_SHARED_DOWN);
    if (step->shape->experts.shared_gate) {
        int gate = gp_step_matrix(step, x, GP_TENSOR_SHARED_SWITCH);
        shared = joined(step, GP_OP_MULTIPLY, shared, replace(step, gate, map(step, GP_OP_TANH, gate)));
    }
    return joined(step, GP_OP_ADD, sum, shared);
}

int gp_step_multiplied(gp_replayer *step, int x) { return replace(step, x, map(step, GP_OP_SCALAR, x)); }

/* The number is a tensor in the type of the embeddings; one that the module holds in fp32 is cast, or is used itself. */
int gp_step_scaled_embedding(gp_replayer *step, int x) {
    gp_tape *tape = step->tape;
    if ((step->code & GP_CODE_MULTIPLIERS) != 0) return map(step, GP_OP_SCALAR, x);
    int size = gp_step_value(step, x)->size;
    int factor = gp_tape_value(tape, 1, size, GP_HELD_WORKING);
    bool held = (step->code & GP_CODE_SCALED_TABLE) != 0 && size == 4;
    tape->storages[gp_step_value(step, factor)->storage].constant = held;
    int out = gp_tape_apply(tape, GP_OP_MULTIPLY, x, factor, gp_step_value(step, x)->elements, size, false);
    gp_tape_drop(tape, factor);
    return out;
}
