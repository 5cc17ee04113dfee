/* safetensors.h: the header of a .safetensors file, and the index of a model in several of them.
 * github.com/huggingface/safetensors README, "Format". */
#ifndef GP_SAFETENSORS_H
#define GP_SAFETENSORS_H

#include "files/import_file.h"
#include "files/name_table.h"

#define GP_SAFETENSORS_TYPES_MAX 24
typedef struct {
    char type[12]; /* "BF16" */
    uint64_t tensors, elements, bytes;
} gp_safetensors_type;

typedef struct {
    uint64_t tensors, bytes;
    int type_count; /* 0 for an index, which names no types */
    gp_safetensors_type types[GP_SAFETENSORS_TYPES_MAX];
} gp_safetensors;

/* Reads a header, adding to what `sum` and `names` hold; the names are the file's bytes. Whether one stands twice is for
 * the caller to find. False when bytes are missing or after an error row. */
bool gp_safetensors_read(gp_import_file *file, gp_safetensors *sum, gp_name_list *names);

/* Reads an index ("weight_map"): a whole file that passed gp_json_scan_file and whose object begins at `start`. False
 * after an error row. */
bool gp_safetensors_read_index(gp_import_file *file, size_t start, gp_safetensors *index);

/* Bits of an element, 0 for a type that is not known. */
unsigned gp_safetensors_bits(const char *type);

#endif
