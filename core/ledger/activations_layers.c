/* activations_layers.c: attention and layers of the Llama and GPT-2 families as transformers computes them eagerly. */
#include "ledger/activations_parts.h"

#include <stddef.h>

static gp_attention_sizes sizes_of(const gp_replayer *step) {
    const gp_layer_kind *kind = &step->layer->kind;
    uint64_t heads = (uint64_t)kind->heads, keys = (uint64_t)kind->kv_heads, width = (uint64_t)kind->head_dim;
    gp_attention_sizes all = {.query = gp_mul3(step->tokens, heads, width),
                 .scores = gp_mul3(step->tokens, heads, step->of->sequence),
                 .head_dim = width};
    all.output = gp_mul3(step->tokens, heads, (uint64_t)kind->value_dim);
    all.repeats = keys < heads;
    all.expands = keys == 1;
    return all;
}

static int apply(gp_replayer *step, gp_op op, int x, uint64_t elements, int size) {
    return gp_tape_apply(step->tape, op, x, GP_NOTHING, elements, size, false);
}

/* The same number of elements in the same size. */
static int map(gp_replayer *step, gp_op op, int x) {
    const gp_value *value = gp_step_value(step, x);
    return apply(step, op, x, value->elements, value->size);
}

/* Ends the name of the old value. */
static int replace(gp_replayer *step, int old, int next) {
    gp_tape_drop(step->tape, old);
    return next;
}

/* An operand of a batched product: in the product's type, and contiguous. */
static int operand(gp_replayer *step, int x, bool contiguous) {
    int cast = step->of->autocast ? gp_step_cast(step, x, 2) : gp_tape_share(step->tape, x);
    return contiguous || step->of->batch == 1 ? cast : replace(step, cast, map(step, GP_OP_COPY, cast));
}

static int product_of(gp_replayer *step, int a, int b, uint64_t elements) {
    int out = gp_tape_apply(step->tape, GP_OP_MATMUL, a, b, elements, gp_step_value(step, a)->size, false);
    gp_tape_drop(step->tape, a);
    gp_tape_drop(step->tape, b);
    return out;
}

static int heads_of(gp_replayer *step, int x) {
    return replace(step, x, gp_tape_view(step->tape, GP_OP_HEADS, x, GP_NOTHING, x, gp_step_value(step, x)->elements));
}

/* repeat_kv: expand and reshape, to the elements of all heads. */
static int repeated(gp_replayer *step, int x, uint64_t elements, const gp_attention_sizes *size) {
    if (!size->repeats) return gp_tape_share(step->tape, x);
    if (size->expands) return gp_tape_view(step->tape, GP_OP_REPEAT, x, GP_NOTHING, x, elements);
    return apply(step, GP_OP_REPEAT, x, elements, gp_step_value(step, x)->size);
}

/* softmax(q k^T * scale + mask) v, in fp32 between the products. */
static int eager_scores(gp_replayer *step, int query, int key, const gp_attention_sizes *size) {
    int narrow = gp_step_value(step, query)->size;
    int stream = step->stream;
    int weights = product_of(step, operand(step, query, false), operand(step, key, size->repeats && !size->expands),
                             size->scores);
    weights = replace(step, weights, map(step, GP_OP_SCALAR, weights));
    if ((step->code & GP_CODE_CAPS_SCORES) != 0) weights = gp_step_capped(step, weights);
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

static int flash_kernel(gp_replayer *step, int query, int key, int value, const gp_attention_sizes *size) {
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

static int attend_eager(gp_replayer *step, int query, int key, int value, const gp_attention_sizes *size) {
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

static int attend_flash(gp_replayer *step, int query, int key, int value, const gp_attention_sizes *size) {
    int out = flash_kernel(step, query, key, value, size);
    int projected = gp_step_matrix(step, out, GP_TENSOR_ATTN_OUTPUT);
    gp_tape_drop(step->tape, out);
    return projected;
}

int gp_step_attend(gp_replayer *step, int query, int key, int value, const gp_attention_sizes *size) {
    return step->of->flash ? attend_flash(step, query, key, value, size) : attend_eager(step, query, key, value, size);
}

static int projection(gp_replayer *step, int x, gp_tensor tensor, uint64_t norm_width) {
    int out = heads_of(step, gp_step_matrix(step, x, tensor));
    return norm_width > 0 ? replace(step, out, gp_step_norm(step, out, norm_width)) : out;
}

/* In the wider type of x and of the tables, which are the same for all layers, or this layer's. */
int gp_step_rotated(gp_replayer *step, int x, int size, int tables) {
    int out = apply(step, GP_OP_ROTARY, x, gp_step_value(step, x)->elements, size);
    if (tables >= 0) gp_node_keep(step->tape, gp_tape_node(step->tape, out), tables);
    return out;
}

static int rotated(gp_replayer *step, int x, int tables) {
    int own = gp_step_value(step, x)->size;
    return gp_step_rotated(step, x, own > step->stream ? own : step->stream, tables);
}

/* Cosines and sines of half of a head, each twice in a row: copies that this layer keeps. */
static int tables_of(gp_replayer *step) {
    uint64_t width = (uint64_t)step->layer->kind.head_dim;
    if ((step->code & GP_CODE_COPIES_TABLES) == 0) return step->tables;
    return gp_tape_hold(step->tape, gp_mul3(step->of->sequence, width, (uint64_t)step->stream), GP_HELD_WORKING);
}

/* Queries, keys and values, rotated, repeated, attended to, projected. */
static int llama_attention(gp_replayer *step, int x) {
    gp_tape *tape = step->tape;
    gp_attention_sizes size = sizes_of(step);
    const gp_layer_kind *kind = &step->layer->kind;
    bool whole = step->shape->qk_norm_per_head, norms = step->shape->qk_norm || whole;
    uint64_t norm = norms ? size.head_dim : 0;
    int query, key, value, tables = tables_of(step);
    if (step->shape->fused_qkv) {
        gp_step_fused_qkv(step, x, &query, &key, &value);
    } else {
        query = projection(step, x, GP_TENSOR_ATTN_Q, whole ? norm * (uint64_t)kind->heads : norm);
        key = projection(step, x, GP_TENSOR_ATTN_K, whole ? norm * (uint64_t)kind->kv_heads : norm);
        value = projection(step, x, GP_TENSOR_ATTN_V, 0);
    }
    int turned, turned_key;
    if ((step->code & GP_CODE_WIDE_ROTARY) != 0) {
        gp_step_rotate_wide(step, query, key, &turned, &turned_key);
    } else {
        turned = rotated(step, query, tables);
        turned_key = rotated(step, key, tables);
    }
    if (tables != step->tables) gp_tape_release(tape, tables);
    gp_tape_drop(tape, query);
    gp_tape_drop(tape, key);
    /* eager_attention_forward repeats them under names of its own. */
    bool repeats = !step->of->flash || step->of->expanded_kv;
    int keys = repeats ? repeated(step, turned_key, size.query, &size) : gp_tape_share(tape, turned_key);
    int values = repeats ? repeated(step, value, size.output, &size) : gp_tape_share(tape, value);
    int out = gp_step_attend(step, turned, keys, values, &size);
    gp_tape_drop(tape, turned);
    gp_tape_drop(tape, keys);
    gp_tape_drop(tape, values);
    gp_tape_drop(tape, turned_key);
    gp_tape_drop(tape, value);
    return gp_step_block_dropout(step, out);
}

/* Part of a value. */
static int part(gp_replayer *step, int x, uint64_t elements) {
    return gp_tape_view(step->tape, GP_OP_SPLIT, x, GP_NOTHING, x, elements);
}

/* GPT-2's: divides by the root of the width, kept as a tensor of its own; masks with where; softmax in the type of the
 * scores but under autocast. */
static int gpt_scores(gp_replayer *step, int query, int key, const gp_attention_sizes *size) {
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

static int gpt_attention(gp_replayer *step, int x) {
    gp_tape *tape = step->tape;
    gp_attention_sizes size = sizes_of(step);
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
    return gp_step_block_dropout(step, out);
}

static int residual(gp_replayer *step, int x, int y) {
    if ((step->code & GP_CODE_MULTIPLIERS) != 0) y = gp_step_multiplied(step, y);
    int a = gp_step_value(step, x)->size, b = gp_step_value(step, y)->size;
    int sum = gp_tape_apply(step->tape, GP_OP_ADD, x, y, gp_step_value(step, x)->elements, a > b ? a : b, false);
    gp_tape_drop(step->tape, y);
    return sum;
}

static int attention(gp_replayer *step, int x) {
    if (step->layer->kind.attention == GP_ATTENTION_LATENT) return gp_step_latent_attention(step, x);
    return step->gpt ? gpt_attention(step, x) : llama_attention(step, x);
}

/* Norms before attention and the feed-forward block, of which each may have one after it as well, or after it alone; or
 * one before both, or one before each, which then work side by side. x stays the caller's name while the layer runs. */
int gp_step_layer(gp_replayer *step, int x) {
    uint64_t hidden = (uint64_t)step->shape->hidden;
    bool before = (step->code & GP_CODE_NORMS_AFTER) == 0;
    bool parallel = step->shape->norms_per_layer == 1, after = step->shape->norms_per_layer == 4 || !before;
    int normed = before ? gp_step_norm(step, x, hidden) : gp_tape_share(step->tape, x);
    int attended = attention(step, normed);
    bool beside = (step->code & GP_CODE_NORMS_BESIDE) != 0;
    if (beside) normed = replace(step, normed, gp_step_norm(step, x, hidden));
    if (parallel || beside) {
        int fed = gp_step_feed_forward(step, normed);
        gp_tape_drop(step->tape, normed);
        return residual(step, x, replace(step, attended, residual(step, attended, fed)));
    }
    gp_tape_drop(step->tape, normed);
    if (after) attended = replace(step, attended, gp_step_norm(step, attended, hidden));
    int middle = residual(step, x, attended);
    normed = before ? gp_step_norm(step, middle, hidden) : gp_tape_share(step->tape, middle);
    int fed = gp_step_feed_forward(step, normed);
    gp_tape_drop(step->tape, normed);
    if (after) fed = replace(step, fed, gp_step_norm(step, fed, hidden));
    return replace(step, middle, residual(step, middle, fed));
}
