/* format.h: weight and KV-cache formats with their exact bits. Rows come from core/data/formats.json. */
#ifndef GP_FORMAT_H
#define GP_FORMAT_H

#include <stdbool.h>

#include "diagnostics.h"

typedef struct {
    const char *name;     /* as a job writes it: "bf16", "nf4", "gguf:Q4_K_M" */
    double linear_bits;   /* bits per weight of the packed linear layers, scales and zero points included */
    double other_bits;    /* bits of embeddings, head and norms: 16 where the method leaves them, else the mix's */
    double textbook_bits; /* the course notes' round figure: 16, 8 or 4 */
    bool whole_model;     /* linear_bits is an average over all tensors (a GGUF mix): other_bits is not used */
    const char *source;
} gp_format;

/* Format of a name (case-insensitive, known aliases), or NULL. "gguf:<mix>", "exl2:<bits>" and "mlx:q<bits>-g<group>"
 * name families; `scratch` receives a row for those that are not in the table and must outlive the result. */
const gp_format *gp_format_find(const char *name, gp_format *scratch);
/* Nearest known name for an unknown one, or "". */
const char *gp_format_nearest(const char *name);

/* Bits per cached value of a KV-cache format ("bf16", "fp8", "q8_0", …); 0 when unknown. */
double gp_kv_bits(const char *name);

#endif
