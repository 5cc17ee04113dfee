/* catalog_key.h: what is compared when a name is looked up. Used at build time to sort the index and at run time to
 * search it. Private to the catalogue and its generator. */
#ifndef GP_CATALOG_KEY_H
#define GP_CATALOG_KEY_H

#include <stdbool.h>

#define GP_KEY_BYTES 128

/* NAME: lower case without separators; the owner of a model id is left out, and so are the words that vendors put
 * around a GPU's name. STEM: NAME without the trailing words of a tuned or converted variant of the same shapes
 * (-Instruct, -Chat, -hf …). */
typedef enum { GP_KEY_NAME, GP_KEY_STEM } gp_key_kind;

/* Writes the key of a name, NUL-terminated and cut to GP_KEY_BYTES - 1; "" when nothing is left. */
void gp_key_of_model(const char *name, gp_key_kind kind, char *key);
void gp_key_of_gpu(const char *name, char *key);

#endif
