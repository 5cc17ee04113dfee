/* gguf_config.h: the metadata of a GGUF file as the config.json that config.h reads. */
#ifndef GP_GGUF_CONFIG_H
#define GP_GGUF_CONFIG_H

#include "files/import_file.h"
#include "files/gguf.h"

struct cJSON;

#define GP_ARCHITECTURE_BYTES 64

/* Config of a file with that general.architecture, owned by the caller; NULL when memory ran out. An architecture of
 * no known family is told by its tensors (gguf_structure.h); one that they do not tell has a model_type that no
 * family has, so that it is told as unknown where the config is read. Values that are no whole numbers of a dimension's
 * range, and lists that do not have a number for each block, become error rows and make the file faulty. */
struct cJSON *gp_gguf_config(const gp_gguf *gguf, const char *architecture, gp_import_file *file);

/* Key, behind the architecture's name, from which a config of that model_type has its `name`; NULL when it is not made
 * from one key. */
const char *gp_gguf_key_of(const char *model_type, const char *name);

/* Error row for a key of a file's metadata; its path is the file's name and the key. */
gp_diagnostic *gp_gguf_fault(gp_import_file *file, gp_code code, const char *architecture, const char *key);

#endif
