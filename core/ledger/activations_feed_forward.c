/* activations_feed_forward.c: feed-forward blocks as transformers computes them eagerly: SwiGLU, GPT-2's GELU in its two
 * forms, and Mixtral's experts one after the other. */
#include "ledger/activations_parts.h"

#include <stddef.h>

static int map(gp_replayer *step, gp_op op, int x, int size) {
    return gp_tape_apply(step->tape, op, x, GP_NOTHING, gp_step_value(step, x)->elements, size, false);
}

static int replace(gp_replayer *step, int old, int next) {
    gp_tape_drop(step->tape, old);
    return next;
}

static int times(gp_replayer *step, int a, int b) {
    int x = gp_step_value(step, a)->size, y = gp_step_value(step, b)->size;
    uint64_t elements = gp_step_value(step, a)->elements;
    int out = gp_tape_apply(step->tape, GP_OP_MULTIPLY, a, b, elements, x > y ? x : y, false);
    gp_tape_drop(step->tape, a);
    gp_tape_drop(step->tape, b);
    return out;
}

static int plus(gp_replayer *step, int a, int b) {
    int x = gp_step_value(step, a)->size, y = b >= 0 ? gp_step_value(step, b)->size : 0;
    uint64_t elements = gp_step_value(step, a)->elements;
    int out = gp_tape_apply(step->tape, GP_OP_ADD, a, b, elements, x > y ? x : y, false);
    return out;
}

/* 0.5 * x * (1 + tanh(c * (x + 0.044715 * pow(x, 3)))), in fp32 from pow on under autocast. */
static int elementary_gelu(gp_replayer *step, int x) {
    int size = gp_step_value(step, x)->size;
    int half = map(step, GP_OP_SCALAR, x, size);
    int wide = gp_step_cast(step, x, step->of->autocast ? 4 : size);
    int inner = map(step, GP_OP_POWER, wide, gp_step_value(step, wide)->size);
    gp_tape_drop(step->tape, wide);
    int size_inner = gp_step_value(step, inner)->size;
    inner = replace(step, inner, map(step, GP_OP_SCALAR, inner, size_inner));
    inner = replace(step, inner, plus(step, x, inner));
    inner = replace(step, inner, map(step, GP_OP_SCALAR, inner, size_inner));
    inner = replace(step, inner, map(step, GP_OP_TANH, inner, size_inner));
    inner = replace(step, inner, plus(step, inner, GP_NOTHING));
    return times(step, half, inner);
}

static int activation(gp_replayer *step, int x) {
    int size = gp_step_value(step, x)->size;
    bool gelu = (step->code & GP_CODE_GELU_GATE) != 0;
    if (step->shape->gated_ffn) return map(step, gelu ? GP_OP_GELU : GP_OP_SILU, x, size);
    return step->of->elementwise_gelu ? elementary_gelu(step, x) : map(step, GP_OP_GELU, x, size);
}

/* down(act(gate(x)) * up(x)), or down(act(up(x))). */
int gp_step_gated_block(gp_replayer *step, int x, gp_tensor gate, gp_tensor up, gp_tensor down) {
    bool gated = step->shape->gated_ffn, fused = step->shape->fused_gate_up && gate == GP_TENSOR_FFN_GATE;
    int first, second = GP_NOTHING;
    if (fused)
        gp_step_fused_gate_up(step, x, &first, &second);
    else
        first = gp_step_matrix(step, x, gated ? gate : up);
    int inner = activation(step, first);
    gp_tape_drop(step->tape, first);
    if (gated) inner = times(step, inner, fused ? second : gp_step_matrix(step, x, up));
    return replace(step, inner, gp_step_matrix(step, inner, down));
}

/* What a node keeps of memory that no other value needs. */
static void keep_bytes(gp_replayer *step, int value, uint64_t bytes) {
    int storage = gp_tape_hold(step->tape, bytes, GP_HELD_WORKING);
    gp_node_keep(step->tape, gp_tape_node(step->tape, value), storage);
    gp_tape_release(step->tape, storage);
}

/* Softmax over the experts, the largest k of it, divided by their sum: weights of the choices. */
static int routed_weights(gp_replayer *step, int x, uint64_t topk) {
    gp_tape *tape = step->tape;
    uint64_t choices = gp_mul(step->tokens, topk);
    int logits = gp_step_matrix(step, x, GP_TENSOR_ROUTER);
    int wide = gp_step_cast(step, logits, 4);
    int shares = map(step, GP_OP_SOFTMAX, wide, 4);
    gp_tape_drop(tape, wide);
    gp_tape_drop(tape, logits);
    int weights = gp_tape_apply(tape, GP_OP_GATHER, shares, GP_NOTHING, choices, 4, false);
    keep_bytes(step, weights, gp_mul(choices, 8));
    gp_tape_drop(tape, shares);
    weights = replace(step, weights, map(step, GP_OP_CAST, weights, 4));
    keep_bytes(step, weights, gp_mul(choices, 4));
    keep_bytes(step, weights, gp_mul(step->tokens, 4));
    return replace(step, weights, gp_step_cast(step, weights, gp_step_value(step, x)->size));
}

/* The tokens of one expert: gathered, fed forward, weighted, added to the sum in place. */
static int expert(gp_replayer *step, int x, int weights, int sum, uint64_t tokens) {
    gp_tape *tape = step->tape;
    uint64_t hidden = (uint64_t)step->shape->hidden;
    int size = gp_step_value(step, x)->size;
    int places = gp_tape_hold(tape, gp_mul(tokens, 16), GP_HELD_WORKING);
    int rows = gp_tape_apply(tape, GP_OP_GATHER, x, GP_NOTHING, gp_mul(tokens, hidden), size, false);
    gp_node_keep(tape, gp_tape_node(tape, rows), places);
    int fed = gp_step_gated_block(step, rows, GP_TENSOR_EXPERT_GATE, GP_TENSOR_EXPERT_UP, GP_TENSOR_EXPERT_DOWN);
    int share = gp_tape_apply(tape, GP_OP_GATHER, weights, GP_NOTHING, tokens, size, false);
    gp_node_keep(tape, gp_tape_node(tape, share), places);
    int weighted = times(step, fed, share);
    if (gp_tape_node(tape, weighted) != NULL)
        gp_tape_node(tape, weighted)->scratch = gp_mul3(tokens, hidden, (uint64_t)size);
    int next = gp_tape_view(tape, GP_OP_ADD, weighted, sum, sum, gp_step_value(step, sum)->elements);
    gp_node *node = gp_tape_node(tape, next);
    gp_node_keep(tape, node, gp_step_value(step, weighted)->storage);
    gp_node_keep(tape, node, places);
    gp_tape_drop(tape, weighted);
    gp_tape_drop(tape, rows);
    gp_tape_drop(tape, sum);
    gp_tape_release(tape, places);
    return next;
}

/* The first expert, the last, and one that stands for all between them, with as many tokens as the mean. */
static int experts(gp_replayer *step, int x) {
    gp_tape *tape = step->tape;
    const gp_experts *shape = &step->shape->experts;
    uint64_t count = (uint64_t)shape->count, topk = (uint64_t)shape->topk;
    uint64_t all = gp_mul(step->tokens, topk), mean = all / count;
    int weights = routed_weights(step, x, topk);
    int sum = gp_tape_value(tape, gp_step_value(step, x)->elements, gp_step_value(step, x)->size, GP_HELD_WORKING);
    int chosen = gp_tape_hold(tape, gp_mul3(all, count, 8), GP_HELD_WORKING); /* one_hot */
    uint64_t layers = (uint64_t)tape->times;
    if (count > 1) sum = expert(step, x, weights, sum, mean);
    if (count > 2) {
        gp_step_stand_for(step, gp_mul(layers, count - 2));
        sum = expert(step, x, weights, sum, mean);
        gp_step_stand_for(step, layers);
    }
    sum = expert(step, x, weights, sum, all - mean * (count - 1));
    gp_tape_release(tape, chosen);
    gp_tape_drop(tape, weights);
    return sum;
}

int gp_step_feed_forward(gp_replayer *step, int x) {
    if (step->layer->expert_params > 0) {
        int sum = experts(step, x);
        return step->shape->experts.shared_ffn > 0 ? gp_step_with_shared(step, x, sum) : sum;
    }
    return gp_step_block_dropout(step, gp_step_gated_block(step, x, GP_TENSOR_FFN_GATE, GP_TENSOR_FFN_UP, GP_TENSOR_FFN_DOWN));
}
