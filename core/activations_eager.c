/* activations_eager.c: a whole training step of transformers' eager code, replayed. Of layers that are alike the first and
 * the last are replayed one by one and one between them stands for the rest: memory grows evenly along these. */
#include "activations_parts.h"

#include <stddef.h>
#include <string.h>

/* Layers of one kind in a row, in the order of computation. */
typedef struct {
    const gp_layer *layer;
    uint64_t count;
    int input;  /* checkpoints: the value kept of it */
    int random; /* … and the state of the random numbers */
} run;
enum { RUNS_MAX = GP_KINDS_MAX + 2, RANDOM_STATE_BYTES = 5056 };

typedef struct {
    gp_step step;
    run runs[RUNS_MAX];
    int run_count;
    bool recomputes, fully;     /* checkpoint around each layer; the loss keeps whole logits */
    uint64_t hidden, vocab, logits;
    int mask;                   /* storage */
    int embedded, places;       /* names that last as long as the layers: embeddings of tokens and of positions */
    bool old_loss;              /* logits are shifted, not labels */
} replay;

static bool text_begins(const gp_job *job, gp_field field, const char *prefix) {
    const char *text = gp_known(job, field) ? job->settings[field].text : NULL;
    return text != NULL && strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_plain(const gp_layer_kind *kind) {
    bool softmax = kind->attention == GP_ATTENTION_FULL || kind->attention == GP_ATTENTION_SLIDING ||
                   kind->attention == GP_ATTENTION_LATENT;
    bool feeds = kind->feed_forward == GP_FFN_DENSE || kind->feed_forward == GP_FFN_MOE;
    bool own = !kind->shares_kv && !kind->keys_are_values && !kind->crosses && !kind->borrowed;
    return softmax && feeds && own && kind->recurrence == GP_RECURRENCE_NONE;
}

static bool is_written_out(const gp_model *model) {
    for (int i = 0; i < model->kind_count; i++)
        if (!is_plain(&model->kinds[i].kind)) return false;
    const gp_shape *shape = &model->shape;
    int norms = shape->norms_per_layer;
    return (norms == 1 || norms == 2 || norms == 4) && shape->norm != GP_NORM_NONE && shape->experts.latent == 0 &&
           !shape->latent.output_gate && shape->latent.index_heads == 0 && !shape->q_gate && shape->embedding_dim == 0;
}

static bool is_known(const gp_model *model, const gp_layout *layout) {
    const gp_recipe *recipe = &layout->recipe;
    gp_recompute policy = recipe->recomputed_layers > 0 ? GP_RECOMPUTE_PARTIAL : recipe->recompute;
    bool whole = layout->tp == 1 && layout->cp == 1 && layout->pp == 1 && layout->ep == 1;
    return whole && recipe->kernels == GP_KERNELS_EAGER && recipe->framework->hugging_face && !recipe->scales_outputs &&
           (policy == GP_RECOMPUTE_NONE || policy == GP_RECOMPUTE_FULL) && is_written_out(model);
}

static void set_step(gp_step *step, const gp_job *job, const gp_model *model, const gp_layout *layout, gp_tape *tape) {
    const gp_recipe *recipe = &layout->recipe;
    *step = (gp_step){.tape = tape, .job = job, .shape = &model->shape, .recipe = recipe};
    step->batch = (uint64_t)layout->micro_batch;
    step->sequence = (uint64_t)layout->seq_len;
    step->tokens = gp_mul(step->batch, step->sequence);
    step->frozen = gp_is_adapter(job);
    step->stored = recipe->numerics == GP_NUMERICS_16_BIT ? 2 : 4;
    step->stream = step->stored;
    step->autocast = recipe->numerics == GP_NUMERICS_AUTOCAST || (step->frozen && recipe->autocast_adapters);
    step->product = step->autocast ? 2 : step->stored;
    step->adapter = recipe->adapter_bytes > 2 ? 4 : 2;
    step->rms = model->shape.norm == GP_NORM_RMS;
    step->gpt = !step->rms && model->shape.fused_qkv && model->shape.kv_heads == model->shape.heads;
    step->dropout = gp_known(job, GP_FIELD_DROPOUT) ? gp_real(job, GP_FIELD_DROPOUT) : 0;
    step->adapter_dropout = gp_known(job, GP_FIELD_LORA_DROPOUT) ? gp_real(job, GP_FIELD_LORA_DROPOUT)
                            : recipe->adapter_dropout            ? 0.05
                                                                 : 0;
    step->noise = text_begins(job, GP_FIELD_DROPOUT_KERNEL, "F.dropout");
}

static void add_run(replay *r, const gp_layer *layer, uint64_t count) {
    if (count > 0 && r->run_count < RUNS_MAX) r->runs[r->run_count++] = (run){.layer = layer, .count = count};
}

static void set_runs(replay *r, const gp_model *model) {
    int64_t layers = model->shape.layers;
    add_run(r, gp_model_layer(model, 0), 1);
    if (layers > 2) {
        int64_t between[GP_KINDS_MAX];
        gp_model_kinds_of(model, 1, layers - 2, between);
        for (int kind = 0; kind < model->kind_count; kind++) add_run(r, &model->kinds[kind], (uint64_t)between[kind]);
    }
    if (layers > 1) add_run(r, gp_model_layer(model, layers - 1), 1);
}

/* Token table, and GPT-2's table of positions with its dropout. */
static int embed(replay *r) {
    gp_step *step = &r->step;
    gp_tape *tape = step->tape;
    uint64_t elements = gp_mul(step->tokens, r->hidden), positions = (uint64_t)step->shape->learned_positions;
    int none = gp_tape_value(tape, 0, 1, GP_HELD_WORKING);
    int x = gp_tape_apply(tape, GP_OP_EMBEDDING, none, GP_NOTHING, elements, step->stream, !step->frozen);
    gp_node *node = gp_tape_node(tape, x);
    if (node != NULL) node->weight = gp_mul3(r->vocab, r->hidden, (uint64_t)step->stored);
    /* A tied table has had a gradient from the output matrix: the two are added out of place. */
    if (node != NULL && step->shape->tied_embeddings) node->added = true;
    gp_tape_drop(tape, none);
    r->embedded = x;
    r->places = GP_NOTHING;
    if (positions == 0) return gp_tape_share(tape, x);
    int numbers = gp_tape_hold(tape, gp_mul(step->sequence, 8), GP_HELD_WORKING);
    int at = gp_tape_apply(tape, GP_OP_EMBEDDING, none, GP_NOTHING, gp_mul(step->sequence, r->hidden), step->stream,
                           !step->frozen);
    node = gp_tape_node(tape, at);
    if (node != NULL) node->weight = gp_mul3(positions, r->hidden, (uint64_t)step->stored);
    gp_node_keep(tape, node, numbers);
    gp_tape_release(tape, numbers);
    r->places = at;
    int sum = gp_tape_apply(tape, GP_OP_ADD, x, at, elements, step->stream, false);
    int out = gp_step_dropout(step, sum, step->gpt ? step->dropout : 0);
    gp_tape_drop(tape, sum);
    return out;
}

/* Cosines and sines, and the causal mask where scores are added to one: the same for all layers, not counted as saved. */
static void hold_constants(replay *r) {
    gp_step *step = &r->step;
    uint64_t size = (uint64_t)step->stream, sequence = step->sequence;
    step->tables = r->mask = GP_NOTHING;
    if (step->gpt) return;
    step->tables = gp_tape_hold(step->tape, gp_mul3(2 * size, sequence, (uint64_t)step->shape->head_dim), GP_HELD_WORKING);
    step->tape->storages[step->tables].constant = true;
    if (step->recipe->flash) return;
    r->mask = gp_tape_hold(step->tape, gp_mul3(size, sequence, sequence), GP_HELD_WORKING);
    gp_tape_touch(step->tape, gp_mul3(size, sequence, sequence));
}

static int forward_layers(replay *r, int x) {
    gp_step *step = &r->step;
    gp_tape *tape = step->tape;
    tape->recording = !r->recomputes;
    for (int i = 0; i < r->run_count; i++) {
        run *of = &r->runs[i];
        gp_step_stand_for(step, of->count);
        step->layer = of->layer;
        if (r->recomputes) {
            of->input = x;
            if (!step->recipe->checkpoints_on_host) gp_tape_keep(tape, gp_step_value(step, x)->storage);
            of->random = gp_tape_hold(tape, gp_mul(of->count, RANDOM_STATE_BYTES), GP_HELD_WORKING);
        }
        int next = gp_step_layer(step, x);
        gp_tape_drop(tape, x);
        x = next;
    }
    gp_step_stand_for(step, 1);
    tape->recording = true;
    if (r->recomputes) gp_step_value(step, x)->wants = true;
    return x;
}

/* Cross entropy of transformers before 4.46 on shifted logits, and after it on padded labels. */
static void add_loss(replay *r, int hidden) {
    gp_step *step = &r->step;
    gp_tape *tape = step->tape;
    uint64_t shifted = gp_mul3(step->batch, step->sequence - 1, r->vocab), rows = step->batch * (step->sequence - 1);
    bool several = step->batch > 1;
    tape->results = GP_HELD_LOGITS;
    int logits = gp_step_product(step, hidden, r->hidden, r->vocab, false, step->stored, !step->frozen);
    bool narrow = gp_known(step->job, GP_FIELD_LOGITS_UPCAST) && gp_whole(step->job, GP_FIELD_LOGITS_UPCAST) == 0;
    int wide = gp_step_cast(step, logits, narrow ? gp_step_value(step, logits)->size : 4);
    if (r->old_loss) gp_tape_drop(tape, logits);
    int size = gp_step_value(step, wide)->size, labels = GP_NOTHING, scored = wide;
    if (!r->old_loss) {
        labels = gp_tape_hold(tape, 8 * (several ? step->tokens : step->sequence + 1), GP_HELD_WORKING);
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
    if (!r->old_loss) gp_tape_drop(tape, logits);
    tape->results = GP_HELD_WORKING;
    gp_tape_seed(tape, loss, GP_NOTHING);
}

/* A fused loss leaves the gradient of the hidden states. */
static void end_forward(replay *r, int hidden) {
    if (r->fully)
        add_loss(r, hidden);
    else
        gp_tape_seed(r->step.tape, hidden, GP_NOTHING);
    gp_tape_drop(r->step.tape, hidden);
}

/* One checkpointed layer: forward once more from its input, then backward, while the outer engine holds the gradient that
 * came in (torch/utils/checkpoint.py). */
static int backward_layer(replay *r, const run *of, int gradient) {
    gp_step *step = &r->step;
    gp_tape *tape = step->tape;
    int nodes = tape->node_count, values = tape->value_count;
    gp_step_stand_for(step, of->count);
    step->layer = of->layer;
    gp_value *input = gp_step_value(step, of->input);
    if (step->recipe->checkpoints_on_host) /* it comes back */
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

static void backward_layers(replay *r, int last, int embedding_nodes) {
    gp_tape *tape = r->step.tape;
    gp_tape_backward(tape, embedding_nodes);
    int gradient = gp_step_value(&r->step, last)->gradient;
    for (int i = r->run_count - 1; i >= 0; i--) gradient = backward_layer(r, &r->runs[i], gradient);
    int first = r->runs[0].input;
    gp_step_value(&r->step, first)->gradient = (int16_t)gradient;
    gp_tape_backward(tape, 0);
}

static uint64_t left_bytes(const replay *r) {
    const gp_step *step = &r->step;
    uint64_t leaf = gp_mul3(2 * (uint64_t)step->stream, step->tokens, r->hidden);
    return gp_add(gp_mul((uint64_t)step->shape->layers, RANDOM_STATE_BYTES), step->frozen ? leaf : 0);
}

bool gp_eager_replay(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_eager_step *result) {
    if (!is_known(model, layout)) return false;
    gp_tape tape;
    replay r = {.run_count = 0};
    gp_step *step = &r.step;
    gp_tape_start(&tape);
    set_step(step, job, model, layout, &tape);
    set_runs(&r, model);
    bool lasting = layout->grad_accum > 1 || layout->recipe.gradients_on_host;
    tape.shards = lasting ? 0 : layout->zero >= 2 ? (uint64_t)(layout->dp * layout->cp) : 1;
    r.recomputes = layout->recipe.recompute == GP_RECOMPUTE_FULL;
    r.fully = layout->recipe.loss == GP_LOSS_FULL;
    r.hidden = (uint64_t)model->shape.hidden;
    r.vocab = (uint64_t)model->shape.vocab;
    r.logits = gp_mul(step->tokens, r.vocab);
    r.old_loss = text_begins(job, GP_FIELD_LOSS_IMPL, "hf-old");
    int x = embed(&r);
    /* Checkpoints make the embeddings ask for a gradient, and so do adapters other than beside matrices: prompts,
     * prefixes, scales, low-rank updates of another make. */
    if (step->frozen && (r.recomputes || !layout->recipe.plain_adapter)) gp_step_value(step, x)->wants = true;
    int nodes = tape.node_count;
    hold_constants(&r);
    uint64_t embedded = tape.saved;
    x = forward_layers(&r, x);
    result->layers = tape.saved - embedded;
    int last = x;
    x = gp_step_norm(step, x, r.hidden);
    gp_tape_drop(&tape, last);
    gp_tape_drop(&tape, r.embedded);
    gp_tape_drop(&tape, r.places);
    if (!r.recomputes) {
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
    if (r.recomputes)
        backward_layers(&r, last, nodes);
    else
        gp_tape_backward(&tape, 0);
    result->backward = tape.peak;
    result->left = r.recomputes ? left_bytes(&r) : 0;
    return !tape.full;
}
