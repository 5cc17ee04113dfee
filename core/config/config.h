/* config.h: a Hugging Face config.json (already parsed) as a shape. Used at build time for the catalogue and at run
 * time for {"model":{"config":…}}. */
#ifndef GP_CONFIG_H
#define GP_CONFIG_H

#include "base/diagnostics.h"
#include "config/shape.h"

struct cJSON;

/* Reads every family of core/config/config_families.c, the language model of a multimodal config from its text_config, its
 * towers from vision_config. Missing keys take the family's own defaults (as in the transformers library). Faults become
 * rows of `diagnostics` under `path` ("model.config"); an unknown model_type gives UNSUPPORTED_ARCHITECTURE. Returns false when the shape cannot be used. All dimensions of a returned shape are within
 * 1 … 2^31 so that products stay far below 2^63. */
bool gp_config_read(const struct cJSON *config, const char *path, gp_shape *shape, gp_diagnostics *diagnostics);

/* True for a model_type, or another name of a family, that gp_config_read reads from the numbers that other files have as
 * well. */
bool gp_config_knows(const char *model_type);

/* Gives `shape`, whose dimensions are set, the structure of a family: norms, biases, gating, tying, and a table of
 * max_context learned positions where the family has one. False when this version does not know the model_type, or when
 * its layers are unlike in ways that a name does not tell. */
bool gp_config_structure(const char *model_type, gp_shape *shape);

/* GP_CODE_* of a model_type: how transformers writes its layers. */
uint32_t gp_config_code(const char *model_type);

#endif
