/* activations_layers.c: attention and layers of the Llama and GPT-2 families as transformers computes them eagerly. */
#include "ledger/activations_parts.h"

#include <stddef.h>

/* What attention works on: elements of the micro-batch. */
typedef struct {
    uint64_t query, output, scores, head_dim;
    bool repeats, expands; /* keys are repeated to every query head; without a copy for one head of one sequence */
} sizes;

static sizes sizes_of(const gp_step *step) {
    const gp_layer_kind *kind = &step->layer->kind;
    uint64_t heads = (uint64_t)kind->heads, keys = (uint64_t)kind->kv_heads, width = (uint64_t)kind->head_dim;
    sizes all = {.query = gp_mul3(step->tokens, heads, width),
                 .scores = gp_mul3(step->tokens, heads, step->of->sequence),
                 .head_dim = width};
    all.output = gp_mul3(step->tokens, heads, (uint64_t)kind->value_dim);
    all.repeats = keys < heads;
    all.expands = keys == 1 && step->of->batch == 1;
    return all;
}

static int apply(gp_step *step, gp_op op, int x, uint64_t elements, int size) {
    return gp_tape_apply(step->tape, op, x, GP_NOTHING, elements, size, false);
}

/* The same number of elements in the same size. */
static int map(gp_step *step, gp_op op, int x) {
    const gp_value *value = gp_step_value(step, x);
    return apply(step, op, x, value->elements, value->size);
}

/* Ends the name of the old value. */
static int replace(gp_step *step, int old, int next) {
    gp_tape_drop(step->tape, old);
    return next;
}

/* An operand of a batched product: in the product's type, and contiguous. */
static int operand(gp_step *step, int x, bool contiguous) {
    int cast = step->of->autocast ? gp_step_cast(step, x, 2) : gp_tape_share(step->tape, x);
    return contiguous || step->of->batch == 1 ? cast : replace(step, cast, map(step, GP_OP_COPY, cast));
}

static int product_of(gp_step *step, int a, int b, uint64_t elements) {
    int out = gp_tape_apply(step->tape, GP_OP_MATMUL, a, b, elements, gp_step_value(step, a)->size, false);
    gp_tape_drop(step->tape, a);
    gp_tape_drop(step->tape, b);
    return out;
}

static int heads_of(gp_step *step, int x) {
    return replace(step, x, gp_tape_view(step->tape, GP_OP_HEADS, x, GP_NOTHING, x, gp_step_value(step, x)->elements));
}

/* repeat_kv: expand and reshape, to the elements of all heads. */
static int repeated(gp_step *step, int x, uint64_t elements, const sizes *size) {
    if (!size->repeats) return gp_tape_share(step->tape, x);
    if (size->expands) return gp_tape_view(step->tape, GP_OP_REPEAT, x, GP_NOTHING, x, elements);
    return apply(step, GP_OP_REPEAT, x, elements, gp_step_value(step, x)->size);
}

/* softmax(q k^T * scale + mask) v, in fp32 between the products. */
static int eager_scores(gp_step *step, int query, int key, const sizes *size) {
    int narrow = gp_step_value(step, query)->size;
    int stream = step->stream;
    int weights = product_of(step, operand(step, query, false), operand(step, key, size->repeats && !size->expands),
                             size->scores);
    weights = replace(step, weights, map(step, GP_OP_SCALAR, weights));
    int own = gp_step_value(step, weights)->size;
    weights = replace(step, weights, apply(step, GP_OP_ADD, weights, size->scores, own > stream ? own : stream));
    int wide = gp_step_cast(step, weights, 4);
    int shares = map(step, GP_OP_SOFTMAX, wide);
    gp_tape_drop(step->tape, wide);
    int cast = gp_step_cast(step, shares, narrow);
    gp_tape_drop(step->tape, shares);
    gp_tape_drop(step->tape, weights);
    return replace(step, cast, gp_step_dropout(step, cast, step->of->dropout));
}

static int flash_kernel(gp_step *step, int query, int key, int value, const sizes *size) {
    gp_tape *tape = step->tape;
    int out = gp_tape_apply(tape, GP_OP_FLASH, query, key, size->output, step->product, false);
    gp_node *node = gp_tape_node(tape, out);
    if (node == NULL) return out;
    gp_node_keep(tape, node, gp_step_value(step, key)->storage);
    gp_node_keep(tape, node, gp_step_value(step, value)->storage);
    int rows = gp_tape_hold(tape, gp_mul(4, size->query / size->head_dim), GP_HELD_WORKING);
    gp_node_keep(tape, node, rows);
    gp_tape_release(tape, rows);
    /* The gradient of the values, and that of the queries in fp32 while it is summed. */
    node->scratch = gp_add(gp_mul(gp_step_value(step, value)->elements, (uint64_t)step->product), gp_mul(4, size->query));
    return out;
}

static int attend(gp_step *step, int query, int key, int value, const sizes *size) {
    gp_tape *tape = step->tape;
    int weights = eager_scores(step, query, key, size);
    int out = product_of(step, operand(step, weights, true), operand(step, value, size->repeats && !size->expands),
                         size->output);
    /* transpose, contiguous: backward copies again where sequences are batched. */
    out = replace(step, out, map(step, step->of->batch > 1 ? GP_OP_HEADS : GP_OP_COPY, out));
    int projected = gp_step_matrix(step, out, GP_TENSOR_ATTN_OUTPUT);
    gp_tape_drop(tape, out);
    gp_tape_drop(tape, weights);
    return projected;
}

static int attend_flash(gp_step *step, int query, int key, int value, const sizes *size) {
    int out = flash_kernel(step, query, key, value, size);
    int projected = gp_step_matrix(step, out, GP_TENSOR_ATTN_OUTPUT);
    gp_tape_drop(step->tape, out);
    return projected;
}

static int projection(gp_step *step, int x, gp_tensor tensor, uint64_t norm_width) {
    int out = heads_of(step, gp_step_matrix(step, x, tensor));
    return norm_width > 0 ? replace(step, out, gp_step_norm(step, out, norm_width)) : out;
}

/* The tables are the same for all layers. */
static int rotated(gp_step *step, int x, int size) {
    int out = apply(step, GP_OP_ROTARY, x, gp_step_value(step, x)->elements, size);
    if (step->tables >= 0) gp_node_keep(step->tape, gp_tape_node(step->tape, out), step->tables);
    return out;
}

/* Queries, keys and values, rotated, repeated, attended to, projected. */
static int llama_attention(gp_step *step, int x) {
    gp_tape *tape = step->tape;
    sizes size = sizes_of(step);
    const gp_layer_kind *kind = &step->layer->kind;
    bool whole = step->shape->qk_norm_per_head, norms = step->shape->qk_norm || whole;
    uint64_t norm = norms ? size.head_dim : 0;
    int query = projection(step, x, GP_TENSOR_ATTN_Q, whole ? norm * (uint64_t)kind->heads : norm);
    int key = projection(step, x, GP_TENSOR_ATTN_K, whole ? norm * (uint64_t)kind->kv_heads : norm);
    int value = projection(step, x, GP_TENSOR_ATTN_V, 0);
    int wide = gp_step_value(step, query)->size > step->stream ? gp_step_value(step, query)->size : step->stream;
    int turned = rotated(step, query, wide), turned_key = rotated(step, key, wide);
    gp_tape_drop(tape, query);
    gp_tape_drop(tape, key);
    /* eager_attention_forward repeats them under names of its own. */
    bool repeats = !step->of->flash || step->of->expanded_kv;
    int keys = repeats ? repeated(step, turned_key, size.query, &size) : gp_tape_share(tape, turned_key);
    int values = repeats ? repeated(step, value, size.output, &size) : gp_tape_share(tape, value);
    int out = step->of->flash ? attend_flash(step, turned, keys, values, &size)
                                  : attend(step, turned, keys, values, &size);
    gp_tape_drop(tape, turned);
    gp_tape_drop(tape, keys);
    gp_tape_drop(tape, values);
    gp_tape_drop(tape, turned_key);
    gp_tape_drop(tape, value);
    return out;
}

/* Part of a value, and two values as one. */
static int part(gp_step *step, int x, uint64_t elements) {
    return gp_tape_view(step->tape, GP_OP_SPLIT, x, GP_NOTHING, x, elements);
}

static int joined(gp_step *step, int a, int b, uint64_t elements) {
    int out = gp_tape_apply(step->tape, GP_OP_CONCAT, a, b, elements, gp_step_value(step, a)->size, false);
    gp_tape_drop(step->tape, a);
    gp_tape_drop(step->tape, b);
    return out;
}

/* Multi-head latent attention (modeling_deepseek_v3.py): queries and keys are put together of a part that is rotated and
 * one that is not, keys and values of every head come from the latent. */
static int latent_attention(gp_step *step, int x) {
    gp_tape *tape = step->tape;
    const gp_latent *of = &step->shape->latent;
    uint64_t heads = (uint64_t)step->layer->kind.heads, rope = (uint64_t)of->rope, nope = (uint64_t)of->nope;
    uint64_t each = gp_mul(step->tokens, heads), latent = (uint64_t)of->kv_lora;
    sizes size = {.query = gp_mul(each, nope + rope), .output = gp_mul(each, (uint64_t)of->value),
                  .scores = gp_mul(each, step->of->sequence), .head_dim = nope + rope};
    int query = gp_step_matrix(step, x, of->q_lora > 0 ? GP_TENSOR_ATTN_Q_A : GP_TENSOR_ATTN_Q);
    if (of->q_lora > 0) {
        query = replace(step, query, gp_step_norm(step, query, (uint64_t)of->q_lora));
        query = replace(step, query, gp_step_matrix(step, query, GP_TENSOR_ATTN_Q_B));
    }
    int still = part(step, query, gp_mul(each, nope)), turns = part(step, query, gp_mul(each, rope));
    gp_tape_drop(tape, query);
    query = joined(step, replace(step, turns, rotated(step, turns, step->product)), still, size.query);
    int cache = gp_step_matrix(step, x, GP_TENSOR_ATTN_KV_A);
    int low = part(step, cache, gp_mul(step->tokens, latent)), key_turns = part(step, cache, gp_mul(step->tokens, rope));
    gp_tape_drop(tape, cache);
    low = replace(step, low, gp_step_norm(step, low, latent));
    int both = replace(step, low, gp_step_matrix(step, low, GP_TENSOR_ATTN_KV_B));
    int key = part(step, both, gp_mul(each, nope)), value = part(step, both, size.output);
    gp_tape_drop(tape, both);
    key = joined(step, replace(step, key_turns, rotated(step, key_turns, step->product)), key, size.query);
    int out = step->of->flash ? attend_flash(step, query, key, value, &size) : attend(step, query, key, value, &size);
    gp_tape_drop(tape, query);
    gp_tape_drop(tape, key);
    gp_tape_drop(tape, value);
    return out;
}

/* GPT-2's: divides by the root of the width, kept as a tensor of its own; masks with where; softmax in the type of the
 * scores but under autocast. */
static int gpt_scores(gp_step *step, int query, int key, const sizes *size) {
    gp_tape *tape = step->tape;
    int weights = product_of(step, operand(step, query, false), operand(step, key, false), size->scores);
    weights = replace(step, weights, map(step, GP_OP_WHERE, weights));
    gp_node *node = gp_tape_node(tape, weights);
    int root = gp_tape_hold(tape, gp_step_value(step, weights)->size, GP_HELD_WORKING);
    gp_node_keep(tape, node, root);
    gp_tape_release(tape, root);
    weights = replace(step, weights, map(step, GP_OP_WHERE, weights));
    int narrow = gp_step_value(step, weights)->size;
    int wide = gp_step_cast(step, weights, step->of->autocast ? 4 : narrow);
    int shares = map(step, GP_OP_SOFTMAX, wide);
    gp_tape_drop(tape, wide);
    gp_tape_drop(tape, weights);
    int cast = replace(step, shares, gp_step_cast(step, shares, narrow));
    return replace(step, cast, gp_step_dropout(step, cast, step->of->dropout));
}

static int gpt_attention(gp_step *step, int x) {
    gp_tape *tape = step->tape;
    sizes size = sizes_of(step);
    uint64_t hidden = (uint64_t)step->shape->hidden;
    int all = gp_step_projection(step, x, hidden, 3 * hidden, true, GP_TARGET_Q);
    int query = part(step, all, size.query), key = part(step, all, size.query), value = part(step, all, size.query);
    gp_tape_drop(tape, all);
    int out;
    if (step->of->flash) {
        out = flash_kernel(step, query, key, value, &size);
    } else {
        int weights = gpt_scores(step, query, key, &size);
        out = product_of(step, operand(step, weights, true), operand(step, value, false), size.output);
        out = replace(step, out, map(step, step->of->batch > 1 ? GP_OP_HEADS : GP_OP_COPY, out));
        gp_tape_drop(tape, weights);
    }
    out = replace(step, out, gp_step_matrix(step, out, GP_TENSOR_ATTN_OUTPUT));
    gp_tape_drop(tape, query);
    gp_tape_drop(tape, key);
    gp_tape_drop(tape, value);
    return replace(step, out, gp_step_dropout(step, out, step->of->dropout));
}

static int residual(gp_step *step, int x, int y) {
    int a = gp_step_value(step, x)->size, b = gp_step_value(step, y)->size;
    int sum = gp_tape_apply(step->tape, GP_OP_ADD, x, y, gp_step_value(step, x)->elements, a > b ? a : b, false);
    gp_tape_drop(step->tape, y);
    return sum;
}

static int attention(gp_step *step, int x) {
    if (step->layer->kind.attention == GP_ATTENTION_LATENT) return latent_attention(step, x);
    return step->gpt ? gpt_attention(step, x) : llama_attention(step, x);
}

/* Norms before attention and the feed-forward block, of which each may have one after it as well; or one before both,
 * which then work side by side. x stays the caller's name while the layer runs. */
int gp_step_layer(gp_step *step, int x) {
    uint64_t hidden = (uint64_t)step->shape->hidden;
    bool parallel = step->shape->norms_per_layer == 1, after = step->shape->norms_per_layer == 4;
    int normed = gp_step_norm(step, x, hidden);
    int attended = attention(step, normed);
    if (parallel) {
        int fed = gp_step_feed_forward(step, normed);
        gp_tape_drop(step->tape, normed);
        return residual(step, x, replace(step, attended, residual(step, attended, fed)));
    }
    gp_tape_drop(step->tape, normed);
    if (after) attended = replace(step, attended, gp_step_norm(step, attended, hidden));
    int middle = residual(step, x, attended);
    normed = gp_step_norm(step, middle, hidden);
    int fed = gp_step_feed_forward(step, normed);
    gp_tape_drop(step->tape, normed);
    if (after) fed = replace(step, fed, gp_step_norm(step, fed, hidden));
    return replace(step, middle, residual(step, middle, fed));
}
