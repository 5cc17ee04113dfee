/* job.h: a request's job as a table of settings. One row of fields.def per field drives parsing, defaults, ranges,
 * links, --set, the assumptions of a report and the form of the page, so a field is added in one place. */
#ifndef GP_JOB_H
#define GP_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diagnostics.h"
#include "base/quantity.h"

struct cJSON;
struct gp_file_made;
struct gp_gpu_row;
struct gp_replays;

typedef enum {
#define GP_FIELD(id, path, kind, min, max, solve, tasks, initial, unit, choices, link) GP_FIELD_##id,
#include "request/fields.def"
#undef GP_FIELD
    GP_FIELD_TOTAL
} gp_field;

typedef enum {
    GP_KIND_WHOLE,   /* integer */
    GP_KIND_REAL,    /* number */
    GP_KIND_SWITCH,  /* true or false */
    GP_KIND_CHOICE,  /* one of a closed list; integer = its index */
    GP_KIND_OPEN,    /* one of a list, any other text is kept and noted as not modelled; integer = index or -1 */
    GP_KIND_TEXT     /* free text, for people */
} gp_kind;

/* Choices by name: GP_CHOICE_OPTIMIZER_MUON is the index of "muon" among those of train.optimizer. */
enum {
#define GP_CHOICE(field, name, index, text) GP_CHOICE_##field##_##name = (index),
#include "request/choices.def"
#undef GP_CHOICE
};

/* Where a value comes from. */
typedef enum {
    GP_ABSENT,  /* not given and no default */
    GP_GIVEN,   /* by the request */
    GP_DEFAULT, /* the table's initial value */
    GP_DERIVED, /* follows from other fields (precision from the GPU, dp from the count, …) */
    GP_AUTO,    /* "auto": to be chosen by the solver */
    GP_MAX,     /* "max": to be maximised by the solver */
    GP_SOLVED   /* chosen by the solver */
} gp_origin;

enum { GP_SOLVE_NONE = 0, GP_SOLVE_AUTO = 1, GP_SOLVE_MAX = 2, GP_SOLVE_BOTH = 3 };

typedef enum { GP_PRETRAIN, GP_FULL, GP_LORA, GP_QLORA, GP_INFER, GP_TASK_COUNT } gp_task;
enum { GP_TASKS_TRAIN = 0x0f, GP_TASKS_ADAPTER = 0x0c, GP_TASKS_INFER = 0x10, GP_TASKS_ALL = 0x1f };

typedef struct {
    gp_field field;
    const char *path; /* "train.seq_len" */
    gp_kind kind;
    double min, max; /* inclusive, for numbers */
    int solve;       /* GP_SOLVE_* */
    int tasks;       /* GP_TASKS_*: tasks for which the field has a meaning */
    const char *initial; /* default as text, "" = none, "auto" = to be solved */
    const char *unit;    /* "tokens", "sequences", "GiB", "fraction", "" */
    const char *choices; /* "bf16|fp16|…" for CHOICE and OPEN, else "" */
    const char *link;    /* key in plan links */
} gp_field_row;

typedef struct {
    gp_origin origin;
    int64_t whole;    /* WHOLE, SWITCH (0, 1), CHOICE and OPEN (index) */
    double real;      /* REAL and WHOLE */
    const char *text; /* TEXT and OPEN, NUL-terminated: borrowed from the request's tree or from gp_job.weights_text;
                         NULL when absent or set by gp_set_whole */
} gp_setting;

/* The model as the request states it; model.h turns it into a structure. Absent numbers are 0. */
typedef enum { GP_MODEL_NONE, GP_MODEL_NAMED, GP_MODEL_SHAPES, GP_MODEL_CONFIG } gp_model_source;
/* The `moe` object of explicit shapes. */
typedef struct {
    int64_t experts, topk, ffn, shared, shared_ffn, dense_layers, interleave;
    const struct cJSON *layer_freq; /* which layers have experts, as Megatron states it; borrowed, NULL = absent */
} gp_moe_request;

typedef struct {
    gp_model_source source;
    char name[GP_TEXT_BYTES]; /* id or alias (NAMED), or the label given beside shapes */
    bool params_max;          /* "params":"max" */
    double params;            /* stated total */
    int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, positions;
    int tied_embeddings; /* -1 open, 0, 1; likewise below */
    int gated_ffn, bias, qkv_bias, qk_norm;
    char style[32];       /* "llama", "gpt2", "qwen2", … or "" */
    char attention[32];   /* "MLA", … or "" */
    char activation[32];  /* "gelu_new", … or "" */
    char file_weights[GP_TEXT_BYTES]; /* format of the file that the model was imported from, or "" */
    double file_bytes;    /* of its tensors: the weights, as long as infer.weights is that format; 0 = absent */
    double file_embedding, file_output; /* of those, the token table and the output matrix; 0 = not stated */
    bool has_moe;         /* a `moe` object with at least one value was given */
    gp_moe_request moe;
    const struct cJSON *config; /* CONFIG: the config.json, borrowed from the request's tree */
} gp_model_request;

typedef struct {
    bool custom;                /* an object was given */
    char name[GP_TEXT_BYTES];   /* catalogue name or alias, "cpu", or the label of a custom device */
    char like[GP_TEXT_BYTES];   /* catalogue row from which a custom device takes what it does not state */
    double memory_gib;          /* 0 = absent */
    double bandwidth_gb_s;      /* 0 = absent */
    bool resolved;              /* the name was looked up in the catalogue, which has … */
    const struct gp_gpu_row *row; /* … this row for it, or none (NULL) */
} gp_gpu_request;

/* Targets of LoRA adapters, as a set of matrices. */
enum {
    GP_TARGET_Q = 1, GP_TARGET_K = 2, GP_TARGET_V = 4, GP_TARGET_O = 8,
    GP_TARGET_GATE = 16, GP_TARGET_UP = 32, GP_TARGET_DOWN = 64,
    GP_TARGET_EMBEDDING = 128, GP_TARGET_HEAD = 256,
    GP_TARGET_ATTENTION = 15, GP_TARGET_ALL_LINEAR = 127,
    /* What only some architectures have (projections of recurrent layers, of latent experts): adapted with all of
     * ALL_LINEAR, has no name of its own. */
    GP_TARGET_MIXER = 512
};

/* A copy stays valid while the request's tree and the job it was copied from do: texts are borrowed from both. */
typedef struct {
    gp_setting settings[GP_FIELD_TOTAL];
    gp_model_request model;
    gp_gpu_request gpu;
    unsigned lora_targets;      /* GP_TARGET_* set; 0 = not given */
    bool tensor_types_given;    /* infer.tensor_types: noted, used by the importers */
    char weights_text[GP_TEXT_BYTES]; /* "gguf:IQ3_K" for {"gguf":"IQ3_K","bits":3.43} */
    /* What a call remembers, borrowed; NULL: nothing. */
    struct gp_replays *replays; /* activations.h */
    struct gp_file_made *file;  /* quantize.h */
} gp_job;

/* Row of the field table; `field` must be below GP_FIELD_TOTAL. */
const gp_field_row *gp_field_info(gp_field field);
/* Field of a dotted path, or GP_FIELD_TOTAL. */
gp_field gp_field_of_path(const char *path);
/* Bit of a task in gp_field_row.tasks. */
static inline int gp_task_bit(gp_task task) { return 1 << task; }
/* Number of choices of a field, and the text of one; index out of range gives "". The text is static storage inside
 * the table and not NUL-terminated: length receives its size. */
int gp_choice_count(gp_field field);
const char *gp_choice_text(gp_field field, int64_t index, int *length);

/* Reads the `job` object (docs/request.md). Every fault becomes a row of `diagnostics` with its path; parsing goes on
 * to find them all. null counts as absent. Fields not given get their table default (origin GP_DEFAULT or GP_AUTO).
 * What the job does not store is noted as NOT_MODELLED here: `calibration`, `kept`, LoRA targets that name no matrix,
 * shapes beside a config.json, "max" in a field of another task (it is dropped). Other given values without effect,
 * such as fields of another task and texts outside an OPEN field's list, are for the plan to note.
 * Whether models, GPUs and formats of the given names exist is the concern of later parts. */
void gp_job_read(const struct cJSON *tree, gp_job *job, gp_diagnostics *diagnostics);

/* Writes one setting, typed by a person as text, into a `job` object, typed by the field table: numbers, true and false
 * become JSON values, a text that starts with { or [ is read as JSON where an object or list is allowed, "null" takes
 * the setting out. `path` is a dotted path ("train.seq_len", "model.layers", "hardware.gpu.memory_gib"), the last part
 * of one ("seq_len", "gpu"), or a key of plan links ("seq", "n"); a name that several fields share means the one of the
 * job's task. The value itself is checked by gp_job_read. Returns false after an error row: UNKNOWN_KEY, INVALID_JSON,
 * INVALID_UTF8 or OUT_OF_MEMORY. */
bool gp_job_set(struct cJSON *job, const char *path, const char *value_text, gp_diagnostics *diagnostics);

/* True when the field has a value and it is the choice of that index. */
static inline bool gp_is_choice(const gp_job *job, gp_field field, int64_t choice) {
    gp_origin origin = job->settings[field].origin;
    bool known = origin != GP_ABSENT && origin != GP_AUTO && origin != GP_MAX;
    return known && job->settings[field].whole == choice;
}

/* Accessors of a setting's value. */
static inline int64_t gp_whole(const gp_job *job, gp_field field) { return job->settings[field].whole; }
static inline double gp_real(const gp_job *job, gp_field field) { return job->settings[field].real; }
static inline gp_origin gp_origin_of(const gp_job *job, gp_field field) { return job->settings[field].origin; }
static inline bool gp_known(const gp_job *job, gp_field field) {
    gp_origin origin = job->settings[field].origin;
    return origin != GP_ABSENT && origin != GP_AUTO && origin != GP_MAX;
}
static inline gp_task gp_task_of(const gp_job *job) { return (gp_task)job->settings[GP_FIELD_TASK].whole; }
/* The module of the page's first view plans training alone (wasm/first_view.c). There the compiler knows the answer and
 * leaves out what only inference needs, and a job that is inference stops the module wherever this is asked. */
static inline bool gp_is_training(const gp_job *job) {
#ifdef GP_FIRST_VIEW
    if (gp_task_of(job) == GP_INFER) __builtin_trap();
    return true;
#else
    return gp_task_of(job) != GP_INFER;
#endif
}
static inline bool gp_is_adapter(const gp_job *job) {
    return (gp_task_bit(gp_task_of(job)) & GP_TASKS_ADAPTER) != 0;
}
/* True when the weights of an inference job are the tensors of the file that the model was imported from. */
bool gp_weights_are_file(const gp_job *job);
/* Set a value and its origin (solver, advice, derivation); of CHOICE and OPEN fields the index. */
void gp_set_whole(gp_job *job, gp_field field, int64_t value, gp_origin origin);
void gp_set_real(gp_job *job, gp_field field, double value, gp_origin origin);

/* Writes one setting as text into `buffer` ("4096", "0.9", "true", "bf16", "max"); returns its length, cut to size. */
int gp_setting_text(const gp_job *job, gp_field field, char *buffer, int size);

#endif
