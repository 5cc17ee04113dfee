/* ggml.h: the tensor types of GGUF files and the bytes of their blocks. */
#ifndef GP_GGML_H
#define GP_GGML_H

#include <stdint.h>

typedef enum {
#define GP_GGML(id, number, name, values, bytes) GP_GGML_##id,
#include "formats/ggml_types.def"
#undef GP_GGML
    GP_GGML_COUNT
} gp_ggml_type;

typedef struct {
    int number;       /* as GGUF files write it */
    const char *name; /* as ggml prints it: "q4_K" */
    int64_t values, bytes;
} gp_ggml_row;

const gp_ggml_row *gp_ggml_info(gp_ggml_type type);

/* Type of a number in a file, or GP_GGML_COUNT. */
gp_ggml_type gp_ggml_find(int64_t number);

/* Bytes of `rows` rows of `width` values; a width that is no multiple of the block counts the started block whole. */
uint64_t gp_ggml_bytes(gp_ggml_type type, uint64_t width, uint64_t rows);

#endif
