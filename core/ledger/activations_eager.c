/* activations_eager.c: a whole training step of transformers' eager code, replayed. The first and the last layer are
 * replayed one by one; of those between them, memory grows evenly along layers of one kind, so the last one's kind is not
 * replayed again, and one layer of any other kind stands for all of it. Where the first, recomputed, is of that kind as
 * well, it is not replayed either. */
#include "ledger/activations_parts.h"

#include <stddef.h>
#include <string.h>

/* Layers of one kind in a row, in the order of computation. */
typedef struct {
    const gp_layer *layer;
    uint64_t count;
    int input; /* checkpoints: the value kept of it */
} run;
enum { RUNS_MAX = GP_KINDS_MAX + 2, RANDOM_STATE_BYTES = 5056 };

typedef struct {
    const gp_step_case *of;
    gp_replayer step;
    run runs[RUNS_MAX];
    int run_count;
    uint64_t beside;            /* layers between the first and the last that are of the last one's kind */
    bool alike;                 /* the first, recomputed, does what the last does */
    int kept;                   /* storage of what the layers beside the last keep */
    int first_node, end_node;   /* nodes of the last layer */
    uint64_t hidden, vocab, logits;
    int mask;                   /* storage */
    int embedded, places;       /* names that last as long as the layers: embeddings of tokens and of positions */
} replay;

static void set_step(gp_replayer *step, const gp_step_case *of, const gp_model *model, gp_tape *tape) {
    *step = (gp_replayer){.tape = tape, .of = of, .shape = &model->shape};
    step->tokens = gp_mul(of->batch, of->sequence);
    step->code = model->shape.code;
    step->stream = of->stored;
    step->product = of->autocast ? 2 : of->stored;
    step->rms = model->shape.norm == GP_NORM_RMS;
    step->gpt = !step->rms && model->shape.fused_qkv && model->shape.kv_heads == model->shape.heads &&
                (step->code & GP_CODE_CHUNKED_QKV) == 0;
}

static void add_run(replay *r, const gp_layer *layer, uint64_t count) {
    if (count > 0 && r->run_count < RUNS_MAX) r->runs[r->run_count++] = (run){.layer = layer, .count = count};
}

static void set_runs(replay *r, const gp_model *model) {
    int64_t layers = model->shape.layers, between[GP_KINDS_MAX] = {0};
    const gp_layer *first = gp_model_layer(model, 0), *last = gp_model_layer(model, layers - 1);
    add_run(r, first, 1);
    if (layers > 2) gp_model_kinds_of(model, 1, layers - 2, between);
    for (int kind = 0; kind < model->kind_count; kind++) {
        if (&model->kinds[kind] == last)
            r->beside = (uint64_t)between[kind];
        else
            add_run(r, &model->kinds[kind], (uint64_t)between[kind]);
    }
    if (layers > 1) add_run(r, last, 1);
    r->alike = r->of->recomputes && layers > 1 && first == last;
}

/* Token table, and GPT-2's table of positions with its dropout. */
static int embed(replay *r) {
    gp_replayer *step = &r->step;
    gp_tape *tape = step->tape;
    uint64_t elements = gp_mul(step->tokens, r->hidden), positions = (uint64_t)step->shape->learned_positions;
    int none = gp_tape_value(tape, 0, 1, GP_HELD_WORKING);
    int x = gp_tape_apply(tape, GP_OP_EMBEDDING, none, GP_NOTHING, elements, step->stream, !step->of->frozen);
    gp_node *node = gp_tape_node(tape, x);
    if (node != NULL) node->weight = gp_mul3(r->vocab, r->hidden, (uint64_t)step->of->stored);
    /* A tied table has had a gradient from the output matrix: the two are added out of place. */
    if (node != NULL && step->shape->tied_embeddings) node->added = true;
    gp_tape_drop(tape, none);
    /* Checkpoints make the embeddings ask for a gradient, and so do adapters other than beside matrices: prompts,
     * prefixes, scales, low-rank updates of another make. */
    bool asks = step->of->frozen && (step->of->recomputes || !step->of->plain_adapter);
    if ((step->code & GP_CODE_SCALED_TABLE) != 0) {
        int raw = x;
        x = gp_step_scaled_embedding(step, raw);
        gp_tape_drop(tape, raw);
    }
    if (asks) gp_step_value(step, x)->wants = true;
    r->embedded = x;
    r->places = GP_NOTHING;
    if ((step->code & (GP_CODE_SCALES_EMBEDDING | GP_CODE_MULTIPLIERS)) != 0) {
        if (asks) gp_tape_share(tape, x); /* a leaf lasts as long as its gradient */
        int out = gp_step_scaled_embedding(step, x);
        if ((step->code & GP_CODE_MULTIPLIERS) == 0) return out;
        gp_tape_drop(tape, x);
        r->embedded = out;
        return gp_tape_share(tape, out);
    }
    if (positions == 0) return gp_step_block_dropout(step, gp_tape_share(tape, x));
    int numbers = gp_tape_hold(tape, gp_mul(step->of->sequence, 8), GP_HELD_WORKING);
    int at = gp_tape_apply(tape, GP_OP_EMBEDDING, none, GP_NOTHING, gp_mul(step->of->sequence, r->hidden), step->stream,
                           !step->of->frozen);
    node = gp_tape_node(tape, at);
    if (node != NULL) node->weight = gp_mul3(positions, r->hidden, (uint64_t)step->of->stored);
    gp_node_keep(tape, node, numbers);
    gp_tape_release(tape, numbers);
    r->places = at;
    int sum = gp_tape_apply(tape, GP_OP_ADD, x, at, elements, step->stream, false);
    return gp_step_block_dropout(step, sum);
}

/* Layers that see a window beside others that see all have a mask of their own. */
static bool has_two_masks(const gp_model *model) {
    bool windowed = false, whole = false;
    for (int i = 0; i < model->kind_count; i++) {
        bool window = model->kinds[i].window > 0;
        windowed = windowed || window;
        whole = whole || !window;
    }
    return windowed && whole;
}

/* Cosines and sines, and the causal mask where scores are added to one: the same for all layers, not counted as saved. */
static void hold_constants(replay *r, const gp_model *model) {
    gp_replayer *step = &r->step;
    uint64_t size = (uint64_t)step->stream, sequence = step->of->sequence, masks = has_two_masks(model) ? 2 : 1;
    uint64_t table = step->code == 0 ? gp_mul(size, (uint64_t)step->shape->head_dim) : gp_step_table_width(step);
    step->tables = r->mask = GP_NOTHING;
    if (step->gpt) return;
    step->tables = gp_tape_hold(step->tape, gp_mul3(2, sequence, table), GP_HELD_WORKING);
    step->tape->storages[step->tables].constant = true;
    if (step->of->flash) return;
    r->mask = gp_tape_hold(step->tape, gp_mul3(masks * size, sequence, sequence), GP_HELD_WORKING);
    gp_tape_touch(step->tape, gp_mul3(size, sequence, sequence));
}

/* The next residual stream. What starts a recomputation stays. */
static int forward_layer(replay *r, run *of, int x, bool replayed) {
    gp_replayer *step = &r->step;
    gp_tape *tape = step->tape;
    const gp_value *input = gp_step_value(step, x);
    step->layer = of->layer;
    of->input = x;
    if (r->of->recomputes && !r->of->checkpoints_on_host) gp_tape_keep(tape, input->storage);
    int next = replayed ? gp_step_layer(step, x)
                        : gp_tape_value(tape, input->elements, input->size, GP_HELD_WORKING);
    gp_tape_drop(tape, x);
    return next;
}

static void hold_random_state(replay *r, uint64_t layers) {
    if (r->of->recomputes) gp_tape_hold(r->step.tape, gp_mul(layers, RANDOM_STATE_BYTES), GP_HELD_WORKING);
}

static int forward_layers(replay *r, int x) {
    gp_replayer *step = &r->step;
    gp_tape *tape = step->tape;
    run *last = &r->runs[r->run_count - 1];
    tape->recording = !r->of->recomputes;
    for (run *of = r->runs; of < last; of++) {
        gp_step_stand_for(step, of->count);
        hold_random_state(r, of->count);
        x = forward_layer(r, of, x, of > r->runs || !r->alike);
    }
    gp_step_stand_for(step, 1);
    hold_random_state(r, r->beside + 1);
    gp_tape_mark before;
    int copies;
    gp_tape_set_mark(tape, &before);
    r->first_node = tape->node_count;
    x = forward_layer(r, last, x, true);
    r->end_node = tape->node_count;
    gp_tape_repeat(tape, &before, r->beside, r->beside + (r->alike ? 1 : 0), &r->kept, &copies);
    gp_step_remember(step, copies);
    tape->recording = true;
    if (r->of->recomputes) gp_step_value(step, x)->wants = true;
    return x;
}

/* Cross entropy of transformers before 4.46 on shifted logits, and after it on padded labels. */
static void add_loss(replay *r, int hidden) {
    gp_replayer *step = &r->step;
    gp_tape *tape = step->tape;
    uint64_t shifted = gp_mul3(step->of->batch, step->of->sequence - 1, r->vocab), rows = step->of->batch * (step->of->sequence - 1);
    bool several = step->of->batch > 1;
    tape->results = GP_HELD_LOGITS;
    int logits = gp_step_product(step, hidden, r->hidden, r->vocab, step->shape->head_bias, step->of->stored, !step->of->frozen);
    gp_node *head = gp_tape_node(tape, logits);
    if (head != NULL) head->waits = step->shape->tied_embeddings;
    if ((step->code & GP_CODE_CAPS_LOGITS) != 0) logits = gp_step_capped(step, logits);
    if ((step->code & (GP_CODE_SCALES_LOGITS | GP_CODE_MULTIPLIERS)) != 0) logits = gp_step_multiplied(step, logits);
    int wide = gp_step_cast(step, logits, step->of->narrow_logits ? gp_step_value(step, logits)->size : 4);
    if (r->of->old_loss) gp_tape_drop(tape, logits);
    int size = gp_step_value(step, wide)->size, labels = GP_NOTHING, scored = wide;
    if (!r->of->old_loss) {
        labels = gp_tape_hold(tape, 8 * (several ? step->tokens : step->of->sequence + 1), GP_HELD_WORKING);
        gp_tape_share(tape, wide);
        shifted = r->logits;
    } else {
        scored = several ? gp_tape_apply(tape, GP_OP_SHIFT, wide, GP_NOTHING, shifted, size, false)
                         : gp_tape_view(tape, GP_OP_SHIFT, wide, GP_NOTHING, wide, shifted);
        if (several) labels = gp_tape_hold(tape, 8 * rows, GP_HELD_WORKING);
    }
    int shares = gp_tape_apply(tape, GP_OP_LOSS, scored, GP_NOTHING, shifted, size, false);
    int loss = gp_tape_apply(tape, GP_OP_NLL, shares, GP_NOTHING, 1, 4, false);
    gp_node *node = gp_tape_node(tape, loss);
    if (labels >= 0) gp_node_keep(tape, node, labels);
    int total = gp_tape_hold(tape, 4, GP_HELD_WORKING);
    gp_node_keep(tape, node, total);
    gp_tape_release(tape, total);
    gp_tape_release(tape, labels);
    gp_tape_drop(tape, shares);
    gp_tape_drop(tape, scored);
    gp_tape_drop(tape, wide);
    if (!r->of->old_loss) gp_tape_drop(tape, logits);
    tape->results = GP_HELD_WORKING;
    gp_tape_seed(tape, loss, GP_NOTHING);
}

/* A fused loss leaves the gradient of the hidden states. */
static void end_forward(replay *r, int hidden) {
    if (r->of->whole_logits)
        add_loss(r, hidden);
    else
        gp_tape_seed(r->step.tape, hidden, GP_NOTHING);
    gp_tape_drop(r->step.tape, hidden);
}

/* One checkpointed layer: forward once more from its input, then backward, while the outer engine holds the gradient that
 * came in (torch/utils/checkpoint.py). */
static int backward_layer(replay *r, const run *of, int gradient) {
    gp_replayer *step = &r->step;
    gp_tape *tape = step->tape;
    int nodes = tape->node_count, values = tape->value_count;
    gp_step_stand_for(step, of->count);
    step->layer = of->layer;
    gp_value *input = gp_step_value(step, of->input);
    if (step->of->checkpoints_on_host) /* it comes back */
        input->storage = (int16_t)gp_tape_hold(tape, gp_mul(input->elements, input->size), GP_HELD_KEPT);
    input->gradient = GP_NOTHING;
    bool asked = input->wants;
    input->wants = true;
    gp_tape_share(tape, of->input);
    tape->recording = true;
    int out = gp_step_layer(step, of->input);
    gp_step_end_autocast(step);
    gp_tape_seed(tape, out, gradient);
    gp_tape_backward(tape, nodes);
    gp_tape_drop(tape, out);
    gp_tape_drop(tape, of->input);
    gp_tape_release(tape, gradient);
    gp_tape_release(tape, gp_step_value(step, of->input)->storage);
    int passed = gp_step_value(step, of->input)->gradient;
    gp_step_value(step, of->input)->wants = asked;
    tape->value_count = values;
    gp_step_stand_for(step, 1);
    return passed;
}

static void backward_recomputed(replay *r, int last, int embedding_nodes) {
    gp_tape *tape = r->step.tape;
    gp_tape_backward(tape, embedding_nodes);
    int gradient = gp_step_value(&r->step, last)->gradient, first = r->runs[0].input;
    gp_tape_mark before;
    gp_tape_set_mark(tape, &before);
    tape->beside = r->beside;
    gradient = backward_layer(r, &r->runs[r->run_count - 1], gradient);
    gp_moment peak = tape->peak;
    uint64_t made = tape->now.held[GP_HELD_GRADIENTS] - before.now.held[GP_HELD_GRADIENTS];
    if (peak.bytes <= before.peak.bytes) tape->peak = before.peak;
    gp_tape_end_repeat(tape, r->kept);
    for (int i = r->run_count - 2; i >= (r->alike ? 1 : 0); i--) gradient = backward_layer(r, &r->runs[i], gradient);
    if (r->alike) {
        gp_tape_reach(tape, &peak, &before.now);
        tape->later = made;
        gp_tape_end_repeat(tape, r->of->checkpoints_on_host ? GP_NOTHING : gp_step_value(&r->step, first)->storage);
    }
    gp_step_value(&r->step, first)->gradient = (int16_t)gradient;
    gp_tape_backward(tape, 0);
}

static void backward_kept(replay *r) {
    gp_tape *tape = r->step.tape;
    gp_tape_backward(tape, r->end_node);
    tape->beside = r->beside;
    gp_tape_backward(tape, r->first_node);
    gp_tape_end_repeat(tape, r->kept);
    gp_tape_backward(tape, 0);
}

static uint64_t left_bytes(const replay *r) {
    const gp_replayer *step = &r->step;
    uint64_t leaf = gp_mul3(2 * (uint64_t)step->stream, step->tokens, r->hidden);
    return gp_add(gp_mul((uint64_t)step->shape->layers, RANDOM_STATE_BYTES), step->of->frozen ? leaf : 0);
}

bool gp_replay_step(const gp_step_case *of, const gp_model *model, gp_eager_step *result) {
    gp_tape tape;
    replay r = {.of = of, .run_count = 0};
    gp_replayer *step = &r.step;
    gp_tape_start(&tape);
    tape.shards = of->shards;
    tape.adds = of->adds != 0;
    set_step(step, of, model, &tape);
    set_runs(&r, model);
    r.hidden = (uint64_t)model->shape.hidden;
    r.vocab = (uint64_t)model->shape.vocab;
    r.logits = gp_mul(step->tokens, r.vocab);
    int x = embed(&r);
    int nodes = tape.node_count;
    hold_constants(&r, model);
    uint64_t embedded = tape.saved;
    x = forward_layers(&r, x);
    result->layers = tape.saved - embedded;
    int last = x;
    x = gp_step_norm(step, x, r.hidden);
    gp_tape_drop(&tape, last);
    gp_tape_drop(&tape, r.embedded);
    gp_tape_drop(&tape, r.places);
    if (!of->recomputes) {
        gp_tape_release(&tape, r.mask);
        gp_tape_release(&tape, step->tables);
    }
    result->forward = tape.peak;
    gp_tape_reset_peak(&tape);
    end_forward(&r, x);
    result->loss = tape.peak;
    gp_step_end_autocast(step);
    result->saved = tape.saved;
    memcpy(result->saved_by, tape.saved_by, sizeof result->saved_by);
    gp_tape_reset_peak(&tape);
    if (!of->whole_logits && !of->frozen) gp_tape_add_gradient(&tape, gp_mul3(r.vocab, r.hidden, (uint64_t)of->stored));
    if (of->recomputes)
        backward_recomputed(&r, last, nodes);
    else
        backward_kept(&r);
    result->backward = tape.peak;
    result->left = of->recomputes ? left_bytes(&r) : 0;
    return !tape.full;
}
