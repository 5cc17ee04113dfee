/* quantization.h: what a config.json says about the format of the weights, as a name of format.h. */
#ifndef GP_QUANTIZATION_H
#define GP_QUANTIZATION_H

#include "diagnostics.h"

struct cJSON;

#define GP_METHOD_BYTES 48

typedef struct {
    char format[GP_METHOD_BYTES]; /* "bf16", "awq", "exl2:4.0"; "" when the method has no name among the formats */
    char method[GP_METHOD_BYTES]; /* as the config has it ("gptq"), "" for weights that are not quantised */
    double bits;                  /* of a quantised weight, 0 = not stated */
    bool stated;                  /* false: nothing was said, and bf16 is assumed */
} gp_quantization;

/* Reads quant_method and its like, or the dtype, of the config or of the text model inside. */
void gp_quantization_read(const struct cJSON *config, gp_quantization *to);

/* Format of a dtype ("bfloat16", "F8_E4M3" …), "" when it has none. */
const char *gp_format_of_dtype(const char *dtype);

#endif
