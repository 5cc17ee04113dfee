#include "import_tensors.h"

#include <string.h>

#include "quantity.h"
#include "text.h"

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

void gp_import_compare(const gp_gguf *gguf, const gp_model *model, gp_import_contradiction *to) {
    for (uint64_t i = 0; i < gguf->tensor_count; i++) {
        const gp_gguf_tensor *tensor = &gguf->tensors[i];
        uint64_t block = gp_gguf_block_of(tensor), expected = 0;
        size_t length = 0;
        const char *name = short_name(tensor, &length);
        if (length == 0 || block >= (uint64_t)model->shape.layers || block == GP_GGUF_BLOCKS_MAX) continue;
        const gp_layer *layer = gp_model_layer(model, (int64_t)block);
        bool told = expect(&model->shape, layer, name, length, tensor->params, &expected);
        if (!told || expected == tensor->params) continue;
        if (to->count++ > 0) continue;
        gp_text_copy(to->name, sizeof to->name, tensor->name, tensor->name_length);
        to->found = tensor->params;
        to->expected = expected;
    }
}
