/* quantize.h: the GGUF file that llama.cpp's quantiser makes of a model: which type each tensor gets under a mix such as
 * Q4_K_M, and the bytes that follow. The rules are those of src/llama-quant.cpp; nothing here is an average. */
#ifndef GP_QUANTIZE_H
#define GP_QUANTIZE_H

#include "formats/ggml.h"
#include "model/model.h"

/* Mix of a format's name ("gguf:Q4_K_M", as formats.json spells it), or -1. */
int gp_mix_find(const char *name);

typedef struct {
    uint64_t embedding, output; /* token table; output matrix, 0 when tied */
    uint64_t ends;              /* norms around the layers, position table, vectors of the whole model */
    uint64_t layers;            /* all layers */
    uint64_t by_type[GP_GGML_COUNT];
} gp_file_bytes;

/* Tensor bytes of a whole file: the text model without towers and prediction modules, which are files of their own. */
void gp_quantize(const gp_model *model, int mix, gp_file_bytes *bytes);

/* The file that was made last: a plan asks for the same one again and again. mix -1: none yet. */
struct gp_file_made {
    int mix;
    const char *id; /* of the model's row */
    gp_shape shape;
    gp_file_bytes bytes;
};

/* What a file holds beside those tensors: its vocabulary, and the prediction modules of families whose converter keeps
 * them. The former is an estimate: 35 to 65 bytes for an entry of the vocabulary in published files, merges included. */
uint64_t gp_file_extra(const gp_model *model, int mix);

/* Tensor bytes of layers first … first + count - 1 of that file. */
uint64_t gp_quantize_layers(const gp_model *model, int mix, int64_t first, int64_t count);

#endif
