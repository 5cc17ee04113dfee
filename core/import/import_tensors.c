#include "import/import_tensors.h"

#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "base/text.h"

/* "attn_q" of "blk.3.attn_q.weight"; its length is 0 when the tensor is no weight of a block. */
static const char *short_name(const gp_gguf_tensor *tensor, size_t *length) {
    const size_t ending = sizeof ".weight" - 1;
    size_t start = 4, end = tensor->name_length;
    *length = 0;
    if (end < ending + start || memcmp(tensor->name + end - ending, ".weight", ending) != 0) return tensor->name;
    end -= ending;
    while (start < end && tensor->name[start] != '.') start++;
    if (start < end) *length = end - start - 1;
    return tensor->name + start + 1;
}

static bool is(const char *word, const char *name, size_t length) { return gp_text_is(word, name, length); }

/* Parameters of a layer's matrices of that name, 0 when it has none. */
static uint64_t params_of(const gp_layer *layer, const char *name, size_t length) {
    uint64_t params = 0;
    for (int i = 0; i < layer->matrix_count; i++) {
        const gp_matrix *matrix = &layer->matrices[i];
        if (!is(gp_tensor_info(matrix->tensor)->gguf, name, length)) continue;
        uint64_t one = gp_mul((uint64_t)matrix->inputs, (uint64_t)matrix->outputs);
        params = gp_add(params, gp_mul(one, (uint64_t)matrix->copies));
    }
    return params;
}

/* Tensors of a kind of layer that the model must have when its file does: attention, low-rank queries, latents,
 * experts. */
static bool is_telling(const char *name, size_t length) {
    return is("attn_k", name, length) || is("attn_q_a", name, length) || is("attn_kv_a_mqa", name, length) ||
           is("ffn_up_exps", name, length);
}

/* Whether a layer's tensor of that name is told by the model at all, and with how many parameters. Files may hold q, k
 * and v in one, or gate and up. Of a structure that was made from the tensors, keys and values alone can differ. */
static bool expect(const gp_shape *shape, const gp_layer *layer, const char *name, size_t length, uint64_t found,
                   uint64_t *expected) {
    bool stated = strcmp(shape->model_type, "gguf") == 0;
    *expected = params_of(layer, name, length);
    if (stated) return *expected > 0 && (is("attn_k", name, length) || is("attn_v", name, length));
    if (*expected == 0 && is("attn_qkv", name, length)) {
        *expected = gp_add(gp_add(params_of(layer, "attn_q", 6), params_of(layer, "attn_k", 6)),
                           params_of(layer, "attn_v", 6));
    }
    uint64_t both = gp_add(*expected, params_of(layer, "ffn_gate", 8));
    if (shape->fused_gate_up && is("ffn_up", name, length) && found == both) *expected = both;
    return *expected > 0 || is_telling(name, length);
}

static void contradict(gp_import_contradiction *to, const char *name, size_t length, uint64_t found, uint64_t expected) {
    if (to->count++ > 0) return;
    gp_text_copy(to->name, sizeof to->name, name, length);
    to->found = found;
    to->expected = expected;
}

/* Bit of a block whose tensor stands for several of the model. */
#define FUSED 63
_Static_assert((int)GP_TENSOR_COUNT <= FUSED, "tensors of a layer, a bit each");

static bool may_be_fused(gp_tensor tensor) {
    return tensor == GP_TENSOR_ATTN_Q || tensor == GP_TENSOR_ATTN_K || tensor == GP_TENSOR_ATTN_V ||
           tensor == GP_TENSOR_EXPERT_GATE || tensor == GP_TENSOR_EXPERT_UP;
}

static uint64_t bits_of(const gp_layer *layer, const char *name, size_t length) {
    uint64_t bits = 0;
    for (int i = 0; i < layer->matrix_count; i++) {
        gp_tensor tensor = layer->matrices[i].tensor;
        if (is(gp_tensor_info(tensor)->gguf, name, length)) bits |= UINT64_C(1) << tensor;
    }
    bool fused = is("attn_qkv", name, length) || is("ffn_gate_up_exps", name, length);
    return bits == 0 && fused ? UINT64_C(1) << FUSED : bits;
}

void gp_import_compare(const gp_gguf *gguf, const gp_model *model, gp_import_contradiction *to) {
    for (uint64_t i = 0; i < gguf->tensor_count; i++) {
        const gp_gguf_tensor *tensor = &gguf->tensors[i];
        uint64_t block = gp_gguf_block_of(tensor), expected = 0;
        size_t length = 0;
        const char *name = short_name(tensor, &length);
        if (length == 0 || block >= (uint64_t)model->shape.layers || block == GP_GGUF_BLOCKS_MAX) continue;
        const gp_layer *layer = gp_model_layer(model, (int64_t)block);
        uint64_t bits = bits_of(layer, name, length);
        to->held[block] |= bits;
        if (bits == 0 && !is_telling(name, length)) continue;
        bool told = expect(&model->shape, layer, name, length, tensor->params, &expected);
        if (!told || expected == tensor->params) continue;
        contradict(to, tensor->name, tensor->name_length, tensor->params, expected);
    }
}

/* The matrices of a layer among `known` that its block has not. */
static void find_missing(const gp_layer *layer, int block, uint64_t known, gp_import_contradiction *to) {
    for (int i = 0; i < layer->matrix_count; i++) {
        gp_tensor tensor = layer->matrices[i].tensor;
        uint64_t bit = UINT64_C(1) << tensor;
        if ((known & bit) == 0 || (to->held[block] & bit) != 0) continue;
        if (may_be_fused(tensor) && to->held[block] >> FUSED != 0) continue;
        const char *name = gp_tensor_info(tensor)->gguf;
        char full[GP_TEXT_BYTES];
        int length = snprintf(full, sizeof full, "blk.%d.%s.weight", block, name);
        contradict(to, full, (size_t)length, 0, params_of(layer, name, strlen(name)));
        to->held[block] |= bit;
    }
}

void gp_import_find_missing(const gp_model *model, gp_import_contradiction *to) {
    uint64_t known = 0;
    /* A structure that was made from the tensors says nothing of other layers than the first. */
    if (strcmp(model->shape.model_type, "gguf") == 0 || model->shape.incomplete) return;
    for (int block = 0; block < GP_GGUF_BLOCKS_MAX; block++) known |= to->held[block];
    if (known >> FUSED != 0) known |= UINT64_C(1) << GP_TENSOR_ATTN_Q;
    for (int block = 0; block < GP_GGUF_BLOCKS_MAX && block < model->shape.layers; block++) {
        /* Whole blocks that are not there are counted elsewhere. */
        if (to->held[block] != 0) find_missing(gp_model_layer(model, block), block, known, to);
    }
}
