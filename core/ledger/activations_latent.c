/* activations_latent.c: multi-head latent attention as transformers computes it eagerly (modeling_deepseek_v3.py). */
#include "ledger/activations_parts.h"

static int replace(gp_replayer *step, int old, int next) {
    gp_tape_drop(step->tape, old);
    return next;
}

/* Part of a value, and two values as one. */
static int part(gp_replayer *step, int x, uint64_t elements) {
    return gp_tape_view(step->tape, GP_OP_SPLIT, x, GP_NOTHING, x, elements);
}

static int joined(gp_replayer *step, int a, int b, uint64_t elements) {
    int out = gp_tape_apply(step->tape, GP_OP_CONCAT, a, b, elements, gp_step_value(step, a)->size, false);
    gp_tape_drop(step->tape, a);
    gp_tape_drop(step->tape, b);
    return out;
}

/* Queries and keys are put together of a part that is rotated and
 * one that is not, keys and values of every head come from the latent. */
int gp_step_latent_attention(gp_replayer *step, int x) {
    gp_tape *tape = step->tape;
    const gp_latent *of = &step->shape->latent;
    uint64_t heads = (uint64_t)step->layer->kind.heads, rope = (uint64_t)of->rope, nope = (uint64_t)of->nope;
    uint64_t each = gp_mul(step->tokens, heads), latent = (uint64_t)of->kv_lora;
    gp_attention_sizes size = {.query = gp_mul(each, nope + rope), .output = gp_mul(each, (uint64_t)of->value),
                  .scores = gp_mul(each, step->of->sequence), .head_dim = nope + rope};
    int query = gp_step_matrix(step, x, of->q_lora > 0 ? GP_TENSOR_ATTN_Q_A : GP_TENSOR_ATTN_Q);
    if (of->q_lora > 0) {
        query = replace(step, query, gp_step_norm(step, query, (uint64_t)of->q_lora));
        query = replace(step, query, gp_step_matrix(step, query, GP_TENSOR_ATTN_Q_B));
    }
    int still = part(step, query, gp_mul(each, nope)), turns = part(step, query, gp_mul(each, rope));
    gp_tape_drop(tape, query);
    query = joined(step, replace(step, turns, gp_step_rotated(step, turns, step->product, step->tables)), still, size.query);
    int cache = gp_step_matrix(step, x, GP_TENSOR_ATTN_KV_A);
    int low = part(step, cache, gp_mul(step->tokens, latent)), key_turns = part(step, cache, gp_mul(step->tokens, rope));
    gp_tape_drop(tape, cache);
    low = replace(step, low, gp_step_norm(step, low, latent));
    int both = replace(step, low, gp_step_matrix(step, low, GP_TENSOR_ATTN_KV_B));
    int key = part(step, both, gp_mul(each, nope)), value = part(step, both, size.output);
    gp_tape_drop(tape, both);
    key = joined(step, replace(step, key_turns, gp_step_rotated(step, key_turns, step->product, step->tables)), key, size.query);
    int out = gp_step_attend(step, query, key, value, &size);
    gp_tape_drop(tape, query);
    gp_tape_drop(tape, key);
    gp_tape_drop(tape, value);
    return out;
}
