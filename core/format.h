/* format.h: weight and KV-cache formats with their exact bits. Rows come from core/data/formats.json. */
#ifndef GP_FORMAT_H
#define GP_FORMAT_H

#include <stdbool.h>

typedef struct {
    const char *name;     /* as a job writes it: "bf16", "nf4", "gguf:Q4_K_M" */
    double linear_bits;   /* bits per weight of the packed linear layers, scales and zero points included */
    double large_bits;    /* the same from GP_LARGE_MODEL_PARAMS on, where a mix differs with size; else 0 */
    double other_bits;    /* bits of embeddings, head and norms: 16 where the method leaves them, else the mix's */
    double textbook_bits; /* the course notes' round figure: linear_bits rounded up to 4, 8, 16 or 32 */
    bool whole_model;     /* linear_bits is an average over all tensors (a GGUF mix): other_bits is not used */
    const char *source;
} gp_format;

/* A GGUF mix spends more bits on the embedding and the head, whose share of the model falls with its size. The
 * averages of 8B files hold below this count, those of 70B files from it on. */
#define GP_LARGE_MODEL_PARAMS 20e9

/* Format of a name (case-insensitive, known aliases), or NULL. "gguf:<mix>" (also repacked, "gguf:Q4_0_R8"),
 * "exl2:<bits>" and "mlx:q<bits>-g<group>" name families; `scratch` receives a row for those that are not in the
 * table (named "exl2" or "mlx") and must outlive the result. */
const gp_format *gp_format_find(const char *name, gp_format *scratch);
/* Bits per weight of the linear layers (of all tensors for whole_model) in a model of `params` parameters. */
double gp_format_bits(const gp_format *format, double params);
/* Nearest known name for an unknown one, or "". */
const char *gp_format_nearest(const char *name);

/* Bits per cached value of a KV-cache format ("bf16", "fp8", "q8_0", …; "auto" is 16); 0 when unknown. */
double gp_kv_bits(const char *name);

#endif
