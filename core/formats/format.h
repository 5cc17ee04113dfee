/* format.h: weight and KV-cache formats with their exact bits. Rows come from core/data/formats.json. */
#ifndef GP_FORMAT_H
#define GP_FORMAT_H

#include <stdbool.h>

typedef struct {
    const char *name;     /* as a job writes it: "bf16", "nf4", "gguf:Q4_K_M" */
    double linear_bits;   /* bits per weight of the packed linear layers, scales and zero points included */
    double other_bits;    /* bits of embeddings, head and norms: 16 where the method leaves them, else the format's */
    double textbook_bits; /* the course notes' round figure: linear_bits rounded up to 4, 8, 16 or 32 */
    bool whole_model;     /* all tensors are packed: other_bits is not used. Of a GGUF mix, linear_bits are those of its
                             base type, quantize.h knows the types of its tensors */
    bool experts_only;    /* linear_bits are those of the experts of a model that has some */
    double beside_bits;   /* of the linear layers beside them; 0 = other_bits */
} gp_format;

/* Format of a name (case-insensitive, known aliases), or NULL. "gguf:<mix>" (also repacked, "gguf:Q4_0_R8", and by
 * the mix's name alone, "Q4_K_M", unless that is a format of its own),
 * "exl2:<bits>", "exl3:<bits>", "mlx:q<bits>-g<group>", "mlx:mxfp4", "gptq4-g<group>", "gptq4-channel" (so also awq4,
 * w4a16 and int4, of 2, 3, 4 or 8 bits) and "fp8-b<rows>x<columns>" name families, and "<format>-experts" is one that packs
 * the routed experts alone; `scratch` receives a row for those that
 * are not in the table (named by the family) and must outlive the result. */
const gp_format *gp_format_find(const char *name, gp_format *scratch);
/* Nearest known name for an unknown one, or "". */
const char *gp_format_nearest(const char *name);

/* Bits per cached value of a KV-cache format ("bf16", "fp8", "q8_0", …; "auto" is 16); 0 when unknown. */
double gp_kv_bits(const char *name);

#endif
