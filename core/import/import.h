/* import.h: files that people have of a model (config.json, a safetensors index or header, GGUF) as a job's model and
 * the exact bytes of its weights. Several files of one model are told together: config and index, parts of a split. */
#ifndef GP_IMPORT_H
#define GP_IMPORT_H

#include "import/import_tensors.h"
#include "config/quantization.h"
#include "files/safetensors.h"
#include "base/writer.h"

struct cJSON;

#define GP_IMPORT_PARTS_MAX 512
/* Most bytes of all parts together: the headers of the largest published models take a fifth of it. */
#define GP_IMPORT_TOTAL_MAX (UINT64_C(64) << 20)

typedef struct {
    const char *name;
    const unsigned char *bytes;
    uint64_t length, size; /* bytes at hand, and of the whole file or GP_SIZE_UNKNOWN */
    uint64_t need;         /* set by gp_import_read: bytes to come back with, 0 = enough */
} gp_import_part;

typedef enum { GP_IMPORT_NONE, GP_IMPORT_CONFIG, GP_IMPORT_INDEX, GP_IMPORT_SAFETENSORS, GP_IMPORT_GGUF } gp_import_kind;

/* Tensors by what they are for, as their names in GGUF files tell. */
typedef enum {
    GP_GROUP_EMBEDDING, GP_GROUP_HEAD, GP_GROUP_LAYERS, GP_GROUP_EXPERTS, GP_GROUP_NORMS, GP_GROUP_TOWERS,
    GP_GROUP_OTHER, GP_GROUP_COUNT
} gp_import_group;

typedef struct {
    char name[16]; /* "q4_K", "BF16", "type 99" */
    uint64_t tensors, params, bytes;
} gp_import_sum;

#define GP_IMPORT_TYPES_MAX 48
typedef struct {
    gp_import_kind kind; /* of the file that holds the weights, CONFIG without one */
    char name[GP_TEXT_BYTES];
    char architecture[GP_TEXT_BYTES];
    uint64_t tensors, bytes;
    uint64_t embedding_bytes, output_bytes; /* of a GGUF file's token table and output matrix, 0 = none */
    uint64_t params;     /* 0 = not told by the files */
    int type_count;
    gp_import_sum types[GP_IMPORT_TYPES_MAX];
    gp_import_sum groups[GP_GROUP_COUNT]; /* of GGUF files */
    gp_quantization quantization;
    struct cJSON *config;  /* owned, NULL without structure */
    struct cJSON *ignored; /* owned list of texts: keys that were not used */
    uint64_t computed_params; /* of the config, 0 when it cannot be planned */
    uint64_t prediction_params; /* of prediction modules beside them, 0 = none */
} gp_import;

/* Reads the parts. `name` is what the model is called, NULL for the name in the files. Faults become rows with the
 * part's name as path, and the key where one is at fault ("config.json: hidden_size"). Weights whose structure is not
 * known are a warning, since their bytes are; a config that is wrong is an error whatever stands beside it. False when a
 * part needs more bytes, or after an error row. To be released either way. */
bool gp_import_read(gp_import_part *parts, int count, const char *name, gp_import *import, gp_diagnostics *faults);
void gp_import_release(gp_import *import);

/* Members `import` and `job` of a report. */
void gp_import_report(gp_writer *writer, const gp_import *import);

/* The parts of the above: import_json.c, import_gguf.c, import_config.c. */
typedef struct {
    gp_import *import;
    gp_diagnostics *faults;
    gp_safetensors headers, index; /* sums of the files read so far */
    gp_quantization beside;        /* of a file of its own */
    const char *beside_name;       /* of that file where its settings count, NULL otherwise */
    const char *config_name;       /* of the part that is a config, NULL without one */
    gp_name_list names;            /* of all tensors; owned */
    char gguf_architecture[GP_TEXT_BYTES]; /* of the parts that name one */
    uint64_t split_tensors;        /* that the parts of a split state for all of them, 0 = not told */
    uint64_t part_tensors;         /* of the GGUF files that are no tower */
    bool has_index;
    const char *index_name;        /* of the part that is an index, NULL without one */
    int header_count, gguf_count, tower_count;
    int split_count;               /* parts that a split GGUF model has, 0 = not split */
    gp_import_contradiction contradiction;
    uint64_t blocks_stated;        /* of the metadata, 0 = not told */
    unsigned char block_seen[GP_GGUF_BLOCKS_MAX];
    unsigned char split_seen[GP_IMPORT_PARTS_MAX];
} gp_import_state;

void gp_import_json(gp_import_state *state, gp_import_file *file);
void gp_import_gguf(gp_import_state *state, gp_import_file *file);
/* What all GGUF files together are: their format, and warnings where their tensors and metadata differ, with `path`.
 * False after an error row. */
bool gp_import_gguf_end(gp_import_state *state, const char *path);
/* Rows about what a file holds become rows about the file: "hidden_size" in config.json is "config.json: hidden_size". */
void gp_import_pass_on(const gp_diagnostics *faults, const char *name, gp_diagnostics *to);
/* Counts the config's parameters and compares them with the bytes of the weights; `path` names the files as a whole. False
 * after an error row. */
bool gp_import_count(gp_import_state *state, const char *path);
/* Warning row for weights in a format without a name, which then labels them. */
void gp_import_check_format(gp_import_state *state, const char *path);
void gp_import_add(gp_import_sum *sum, uint64_t tensors, uint64_t params, uint64_t bytes);
/* Row of a type's name; NULL when there are too many. */
gp_import_sum *gp_import_type(gp_import *import, const char *name);

#endif
