/* quantization.h: what a config.json says about the format of the weights, as a name of format.h. */
#ifndef GP_QUANTIZATION_H
#define GP_QUANTIZATION_H

#include "base/diagnostics.h"
#include "config/shape.h"

struct cJSON;

#define GP_METHOD_BYTES 48

/* Linear layers that are not packed though others are: those of a kind in every layer, or others that no format tells
 * apart. */
enum { GP_SKIPS_ATTENTION = 1, GP_SKIPS_SHARED = 2, GP_SKIPS_DENSE = 4, GP_SKIPS_OTHER = 8 };

typedef struct {
    char format[GP_METHOD_BYTES]; /* "bf16", "awq", "exl2:4.0"; "" when the method has no name among the formats */
    char method[GP_METHOD_BYTES]; /* as the config has it ("gptq"), "" for weights that are not quantised */
    double bits;                  /* of a quantised weight, 0 = not stated */
    unsigned skips;               /* GP_SKIPS_…, 0 = every linear layer is packed */
    char skips_key[GP_METHOD_BYTES], skips_example[GP_METHOD_BYTES]; /* where that is said, and the first name there */
    char path[GP_METHOD_BYTES];   /* of the settings: "quantization_config" */
    bool stated;                  /* false: nothing was said, and bf16 is assumed */
} gp_quantization;

/* Reads quant_method and its like, or the dtype, of the config or of the text model inside. Values that no packed weight
 * can have become error rows with the key as path ("quantization_config.bits"); settings that tell no format are a warning,
 * and the dtype counts. */
void gp_quantization_read(const struct cJSON *config, gp_quantization *to, gp_diagnostics *faults);

/* Whether the routed experts of a model of this shape are all that is packed. */
bool gp_quantization_packs_experts(const gp_quantization *stored, const gp_shape *shape);

/* Labels weights whose format has no name among the formats by their method and bits, which is no name among them
 * either. */
void gp_quantization_label(gp_quantization *stored);

/* Format of a dtype ("bfloat16", "F8_E4M3" …), "" when it has none. */
const char *gp_format_of_dtype(const char *dtype);

#endif
