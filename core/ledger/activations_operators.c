/* activations_operators.c: the parts that layers are made of: norms, products with and without adapters, dropout.
 * Order of the operators: github.com/huggingface/transformers modeling_llama.py, modeling_gpt2.py; github.com/huggingface/
 * peft tuners/lora/layer.py; casts: github.com/pytorch/pytorch aten/src/ATen/autocast_mode.cpp. */
#include "ledger/activations_parts.h"

#include <stddef.h>

int gp_step_cast(gp_replayer *step, int x, int size) {
    const gp_value *value = gp_step_value(step, x);
    if (value->size == size) return gp_tape_share(step->tape, x);
    return gp_tape_apply(step->tape, GP_OP_CAST, x, GP_NOTHING, value->elements, size, false);
}

void gp_step_stand_for(gp_replayer *step, uint64_t times) {
    step->tape->times = (int64_t)times;
    step->tape->quiet = times > 1;
}

/* x.to(fp32); x * rsqrt(mean(x^2) + eps). */
int gp_step_normalised(gp_replayer *step, int x, uint64_t width) {
    gp_tape *tape = step->tape;
    uint64_t elements = gp_step_value(step, x)->elements;
    int wide = gp_step_cast(step, x, 4);
    int rows = gp_tape_apply(tape, GP_OP_STATISTICS, wide, GP_NOTHING, elements / width, 4, false);
    if (step->of->mean_keeps_input && gp_tape_node(tape, rows) != NULL) {
        int squares = gp_tape_hold(tape, gp_mul(elements, 4), GP_HELD_WORKING);
        gp_node_keep(tape, gp_tape_node(tape, rows), squares);
        gp_tape_release(tape, squares);
    }
    int normed = gp_tape_apply(tape, GP_OP_NORMALISE, wide, rows, elements, 4, false);
    gp_tape_drop(tape, wide);
    gp_tape_drop(tape, rows);
    return normed;
}

/* weight * normalised.to(its type). */
static int rms_norm(gp_replayer *step, int x, uint64_t width) {
    gp_tape *tape = step->tape;
    uint64_t elements = gp_step_value(step, x)->elements;
    int size = gp_step_value(step, x)->size, out_size = size > step->of->stored ? size : step->of->stored;
    int normed = gp_step_normalised(step, x, width);
    int narrow = gp_step_cast(step, normed, size);
    int out = gp_tape_apply(tape, GP_OP_NORM_WEIGHT, narrow, GP_NOTHING, elements, out_size, !step->of->frozen);
    gp_node *node = gp_tape_node(tape, out);
    if (node != NULL && !step->of->frozen) node->weight = gp_mul(width, (uint64_t)step->of->stored);
    gp_tape_drop(tape, narrow);
    gp_tape_drop(tape, normed);
    return out;
}

/* Mean and reciprocal deviation of each row are kept: in fp32 on GPUs, in the type of the input on the host. */
static int layer_norm(gp_replayer *step, int x, uint64_t width) {
    gp_tape *tape = step->tape;
    uint64_t elements = gp_step_value(step, x)->elements;
    int size = gp_step_value(step, x)->size;
    int out = gp_tape_apply(tape, GP_OP_LAYER_NORM, x, GP_NOTHING, elements, size, !step->of->frozen);
    gp_node *node = gp_tape_node(tape, out);
    if (node == NULL) return out;
    uint64_t statistic = step->of->on_host ? (uint64_t)size : 4;
    int rows = gp_tape_hold(tape, gp_mul3(2, elements / width, statistic), GP_HELD_WORKING);
    gp_node_keep(tape, node, rows);
    gp_tape_release(tape, rows);
    if (!step->of->frozen) node->weight = gp_mul3(2, width, (uint64_t)step->of->stored);
    return out;
}

int gp_step_norm(gp_replayer *step, int x, uint64_t width) {
    if ((step->code & GP_CODE_NORM_CENTRED) != 0) return gp_step_centred_norm(step, x, width);
    if (!step->rms) return layer_norm(step, x, width);
    bool wide = (step->code & (GP_CODE_NORM_ADDS_ONE | GP_CODE_NORM_WIDE)) != 0;
    return wide ? gp_step_wide_norm(step, x, width) : rms_norm(step, x, width);
}

int gp_step_dropout(gp_replayer *step, int x, double rate) {
    gp_tape *tape = step->tape;
    if (!(rate > 0)) return gp_tape_share(tape, x);
    uint64_t elements = gp_step_value(step, x)->elements;
    int size = gp_step_value(step, x)->size;
    int kept = gp_tape_hold(tape, gp_mul(elements, step->of->noise ? (uint64_t)size : 1), GP_HELD_WORKING);
    int out = gp_tape_apply(tape, step->of->noise ? GP_OP_NOISE : GP_OP_DROPOUT, x, GP_NOTHING, elements, size, false);
    gp_node *node = gp_tape_node(tape, out);
    gp_node_keep(tape, node, kept);
    gp_tape_release(tape, kept);
    /* On the host the mask is scaled apart, GPUs have a kernel: aten/src/ATen/native/Dropout.cpp. */
    if (node != NULL && step->of->on_host && !step->of->noise) node->scratch = gp_mul(elements, (uint64_t)size);
    return out;
}

int gp_step_block_dropout(gp_replayer *step, int x) {
    bool drops = step->gpt || (step->code & GP_CODE_DROPS_BLOCKS) != 0;
    if (!drops) return x;
    int out = gp_step_dropout(step, x, step->of->dropout);
    gp_tape_drop(step->tape, x);
    return out;
}

/* Autocast makes one 16-bit copy of each fp32 weight and bias and keeps it until its context ends, or for backward. */
static int weight_copy(gp_replayer *step, gp_node *node, uint64_t bytes, bool kept) {
    gp_tape *tape = step->tape;
    uint64_t times = kept && node != NULL ? 1 : (uint64_t)tape->times;
    int copy = gp_tape_hold(tape, gp_mul(bytes, times), GP_HELD_WORKING);
    if (kept) gp_node_keep(tape, node, copy);
    return copy;
}

void gp_step_end_autocast(gp_replayer *step) {
    for (int i = 0; i < step->copy_count; i++) gp_tape_release(step->tape, step->copies[i]);
    step->copy_count = 0;
}

void gp_step_remember(gp_replayer *step, int copy) {
    if (step->copy_count < GP_COPIES_MAX)
        step->copies[step->copy_count++] = (int16_t)copy;
    else
        gp_tape_release(step->tape, copy);
}

int gp_step_product(gp_replayer *step, int x, uint64_t inputs, uint64_t outputs, bool bias, int stored, bool trained) {
    gp_tape *tape = step->tape;
    uint64_t weight = gp_mul(inputs, outputs), biases = bias ? outputs : 0;
    uint64_t rows = gp_step_value(step, x)->elements / inputs;
    bool copied = step->of->autocast && stored > 2;
    bool unpacked = step->of->packed_frozen && !trained && stored == step->of->stored;
    int input = gp_step_cast(step, x, step->of->autocast ? 2 : stored);
    int size = step->of->autocast ? 2 : stored;
    if (unpacked) gp_tape_touch(tape, gp_mul(weight, 2));
    int out = gp_tape_apply(tape, GP_OP_PRODUCT, input, GP_NOTHING, gp_mul(rows, outputs), size, trained);
    gp_node *node = gp_tape_node(tape, out);
    bool needed = gp_step_value(step, input)->wants;
    if (copied) gp_step_remember(step, weight_copy(step, node, gp_mul(weight, 2), needed));
    if (copied && bias) gp_step_remember(step, weight_copy(step, NULL, gp_mul(biases, 2), false));
    if (node != NULL && trained) {
        node->weight = gp_mul(gp_add(weight, biases), (uint64_t)stored);
        node->copy = copied ? gp_mul(gp_add(weight, biases), 2) : 0;
    }
    if (node != NULL && unpacked) node->scratch = gp_mul(weight, 2);
    if (unpacked && step->of->keeps_inputs) gp_node_keep(tape, node, gp_step_value(step, input)->storage);
    gp_tape_drop(tape, input);
    return out;
}

/* result = base(x); x = x.to(A.dtype); result = result + B(A(dropout(x))) * scale; result.to(its type). */
static int adapted(gp_replayer *step, int x, int base, uint64_t inputs, uint64_t outputs) {
    gp_tape *tape = step->tape;
    uint64_t rank = step->of->rank;
    int size = gp_step_value(step, base)->size;
    int input = gp_step_cast(step, x, step->of->adapter);
    int dropped = gp_step_dropout(step, input, step->of->adapter_dropout);
    int down = gp_step_product(step, dropped, inputs, rank, false, step->of->adapter, true);
    gp_tape_drop(tape, dropped);
    int up = gp_step_product(step, down, rank, outputs, false, step->of->adapter, true);
    gp_tape_drop(tape, down);
    uint64_t elements = gp_step_value(step, up)->elements;
    int up_size = gp_step_value(step, up)->size;
    int scaled = gp_tape_apply(tape, GP_OP_SCALAR, up, GP_NOTHING, elements, up_size, false);
    gp_tape_drop(tape, up);
    int sum = gp_tape_apply(tape, GP_OP_ADD, base, scaled, elements, up_size > size ? up_size : size, false);
    gp_tape_drop(tape, base);
    gp_tape_drop(tape, scaled);
    int out = gp_step_cast(step, sum, size);
    gp_tape_drop(tape, sum);
    gp_tape_drop(tape, input);
    return out;
}

static const gp_matrix *find(const gp_layer *layer, gp_tensor tensor) {
    for (int i = 0; i < layer->matrix_count; i++)
        if (layer->matrices[i].tensor == tensor) return &layer->matrices[i];
    return NULL;
}

int gp_step_projection(gp_replayer *step, int x, uint64_t inputs, uint64_t outputs, bool bias, unsigned target) {
    int base = gp_step_product(step, x, inputs, outputs, bias, step->of->stored, !step->of->frozen);
    bool adapts = step->of->frozen && (step->of->targets & target) != 0 && step->of->plain_adapter;
    return adapts ? adapted(step, x, base, inputs, outputs) : base;
}

/* A layer without the matrix passes x on. */
int gp_step_matrix(gp_replayer *step, int x, gp_tensor tensor) {
    const gp_matrix *matrix = find(step->layer, tensor);
    if (matrix == NULL) return gp_tape_share(step->tape, x);
    return gp_step_projection(step, x, (uint64_t)matrix->inputs, (uint64_t)matrix->outputs, matrix->bias, matrix->target);
}
