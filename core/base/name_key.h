/* name_key.h: what is compared when a name is looked up. Used at build time to make the index and at run time to
 * search it. Private to the catalogue, the formats and their generator. */
#ifndef GP_NAME_KEY_H
#define GP_NAME_KEY_H

#include <stdint.h>

#define GP_KEY_BYTES 128

/* NAME: lower case without separators; the owner of a model id is left out, and so are the words that vendors put
 * around a GPU's name. STEM: NAME without the trailing words of a tuned or converted variant of the same shapes
 * (-Instruct, -Chat, -hf …). */
typedef enum { GP_KEY_NAME, GP_KEY_STEM } gp_key_kind;

/* Writes the key of a name, NUL-terminated and cut to GP_KEY_BYTES - 1; "" when nothing is left. Only models have
 * stems. */
typedef void gp_key_writer(const char *name, gp_key_kind kind, char *key);
gp_key_writer gp_key_of_model, gp_key_of_gpu;
/* Of a format: lower case, '-' for '_'. */
gp_key_writer gp_key_of_format;

/* FNV-1a of the key's bytes, its two halves laid over each other. */
uint8_t gp_key_hash(const char *key);

#endif
