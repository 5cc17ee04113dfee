/* looks_like.h: what a file is, by its first bytes: the kinds that are read, and names for those that are not. */
#ifndef GP_LOOKS_LIKE_H
#define GP_LOOKS_LIKE_H

#include <stddef.h>

/* GGUF, SAFETENSORS, and JSON text of whatever content are read; OTHER is named. */
typedef enum { GP_LOOKS_GGUF, GP_LOOKS_SAFETENSORS, GP_LOOKS_JSON, GP_LOOKS_OTHER } gp_looks_kind;

typedef struct {
    gp_looks_kind kind;
    const char *word; /* of OTHER: a word of the group LOOKS in messages.def */
} gp_looks;

/* Judges the first `length` bytes (a few hundred are enough). */
gp_looks gp_looks_like(const unsigned char *bytes, size_t length);

#endif
