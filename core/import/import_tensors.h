/* import_tensors.h: the tensors of a GGUF file against the model that its metadata describes. Private to the importers. */
#ifndef GP_IMPORT_TENSORS_H
#define GP_IMPORT_TENSORS_H

#include "files/gguf.h"
#include "model/model.h"

/* Tensors of a model's files that do not hold as many parameters as the metadata says. */
typedef struct {
    uint64_t count;             /* 0 = none */
    char name[GP_TEXT_BYTES];   /* of the first */
    uint64_t found, expected;   /* its parameters */
    uint64_t held[GP_GGUF_BLOCKS_MAX]; /* bit N: the block has its layer's tensor N; and FUSED of import_tensors.c */
} gp_import_contradiction;

/* Adds the matrices of the file's layers whose parameters are not the model's. A tensor that the model does not know
 * by name contradicts nothing. Time: tensors times matrices of a layer. */
void gp_import_compare(const gp_gguf *gguf, const gp_model *model, gp_import_contradiction *to);
/* The same for matrices that a layer of the model has and its block, after all files, has not, though others do. */
void gp_import_find_missing(const gp_model *model, gp_import_contradiction *to);

#endif
