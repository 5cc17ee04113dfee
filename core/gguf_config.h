/* gguf_config.h: the metadata of a GGUF file as the config.json that config.h reads. */
#ifndef GP_GGUF_CONFIG_H
#define GP_GGUF_CONFIG_H

#include "gguf.h"

struct cJSON;

#define GP_ARCHITECTURE_BYTES 64

/* Config of a file with that general.architecture, owned by the caller; NULL when memory ran out. An architecture of
 * no known family is told by its tensors (gguf_structure.h); one that they do not tell has a model_type that no
 * family has, so that it is told as unknown where the config is read. */
struct cJSON *gp_gguf_config(const gp_gguf *gguf, const char *architecture);

#endif
