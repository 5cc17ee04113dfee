/* gguf_structure.h: the structure of a decoder from the tensors of its GGUF file, where no family is known that has it.
 * Private to gguf*.c. */
#ifndef GP_GGUF_STRUCTURE_H
#define GP_GGUF_STRUCTURE_H

#include "files/gguf.h"

struct cJSON;

/* Adds to `config`, which holds the dimensions of the metadata, what the family "gguf" of config_stated.c reads, and
 * makes it a config of that family. False, with nothing changed, when the layers are none of a transformer's: when they
 * carry a state along the sequence, or when keys and values are not of one width. */
bool gp_gguf_structure(const gp_gguf *gguf, const char *architecture, struct cJSON *config);

#endif
