/* quantization_skips.h: which linear layers the settings of a quantised model leave in 16 bits. Private to
 * quantization*.c. */
#ifndef GP_QUANTIZATION_SKIPS_H
#define GP_QUANTIZATION_SKIPS_H

#include "config/config_reader.h"
#include "config/quantization.h"

/* Sets `skips` by the lists of names and patterns of `settings`; `layers` of the model, 0 = not known. Head, embedding,
 * norms, routers and towers count for nothing: no format packs them. */
void gp_quantization_skips(const gp_config_reader *settings, int64_t layers, gp_quantization *to);
/* The same by the modules that are packed. */
void gp_quantization_targets(const struct cJSON *targets, gp_quantization *to);

#endif
