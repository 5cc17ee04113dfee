/* gguf.h: the header of a GGUF file, versions 2 and 3: metadata and tensor infos, not the tensors themselves.
 * github.com/ggml-org/ggml docs/gguf.md. Hostile headers cost no more time and memory than their bytes. */
#ifndef GP_GGUF_H
#define GP_GGUF_H

#include "files/import_file.h"
#include "files/name_table.h"

typedef enum {
    GP_GGUF_U8, GP_GGUF_I8, GP_GGUF_U16, GP_GGUF_I16, GP_GGUF_U32, GP_GGUF_I32, GP_GGUF_F32, GP_GGUF_BOOL,
    GP_GGUF_STRING, GP_GGUF_ARRAY, GP_GGUF_U64, GP_GGUF_I64, GP_GGUF_F64, GP_GGUF_KIND_COUNT
} gp_gguf_kind;

/* One value of the metadata; all places are offsets in the file's bytes. */
typedef struct {
    const char *key;
    uint32_t key_length;
    gp_gguf_kind kind;     /* of an array that of its elements */
    bool is_array;
    uint64_t count;        /* elements of an array, bytes of a string, else 1 */
    const unsigned char *bytes; /* of the value, the string or the first element */
} gp_gguf_entry;

#define GP_GGUF_DIMENSIONS_MAX 4
#define GP_GGUF_TYPE_MAX 1023
typedef struct {
    const char *name;
    uint32_t name_length;
    uint32_t type;         /* of ggml, up to GP_GGUF_TYPE_MAX, which ggml.h may not know */
    int dimension_count;
    uint64_t dimensions[GP_GGUF_DIMENSIONS_MAX]; /* the row's length first; 1 beyond dimension_count */
    uint64_t params;
    uint64_t offset, bytes;
} gp_gguf_tensor;

/* Entries and tensors point into the file's bytes. */
typedef struct {
    uint32_t version;
    uint64_t entry_count, tensor_count;
    gp_gguf_entry *entries;   /* owned */
    gp_gguf_tensor *tensors;  /* owned, by offset */
    gp_name_table keys, names; /* owned: of the entries and of the tensors */
    uint64_t data_start;      /* where the tensors begin */
    uint64_t alignment;       /* of data_start and of each tensor's offset, a power of two */
} gp_gguf;

/* Reads a header. False when bytes are missing (file->need says how many) or after an error row. To be released either
 * way. */
bool gp_gguf_read(gp_import_file *file, gp_gguf *gguf);
void gp_gguf_release(gp_gguf *gguf);

/* Entry of a key, NULL when absent. */
const gp_gguf_entry *gp_gguf_find(const gp_gguf *gguf, const char *key);
/* A whole number from 0, or the element of an array; `fallback` when the entry is none. */
uint64_t gp_gguf_whole(const gp_gguf_entry *entry, uint64_t index, uint64_t fallback);
/* True for a whole number, or a list of them, of any width; a switch is none. */
bool gp_gguf_is_whole(const gp_gguf_entry *entry);
/* A whole number, or the element `index` of a list, with its sign, to the nearest double. */
double gp_gguf_signed(const gp_gguf_entry *entry, uint64_t index);
/* A text as valid UTF-8, "" when the entry is none; cut to `size`. */
void gp_gguf_text(const gp_gguf_entry *entry, char *buffer, size_t size);
/* Tensor of a name, NULL when absent. */
const gp_gguf_tensor *gp_gguf_tensor_find(const gp_gguf *gguf, const char *name);

/* Blocks that are told apart. */
#define GP_GGUF_BLOCKS_MAX 512
/* Index of a tensor's block, N of "blk.N.", written without a zero before it; GP_GGUF_BLOCKS_MAX outside blocks. */
uint64_t gp_gguf_block_of(const gp_gguf_tensor *tensor);

/* Mix of general.file_type ("Q4_K_M"), NULL for one that is not known. */
const char *gp_gguf_mix(uint64_t file_type);

#endif
