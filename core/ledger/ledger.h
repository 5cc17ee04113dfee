/* ledger.h: memory as a list of allocations with lifetimes. The peak is the maximum over phases of what is alive;
 * peaks of different phases are never added. */
#ifndef GP_LEDGER_H
#define GP_LEDGER_H

#include "ledger/activations.h"
#include "formulas/formula.h"
#include "layout/layout.h"

typedef enum {
    GP_PHASE_LOAD, GP_PHASE_FORWARD, GP_PHASE_LOSS, GP_PHASE_BACKWARD, GP_PHASE_REDUCE, GP_PHASE_OPTIMIZER,
    GP_PHASE_PREFILL, GP_PHASE_DECODE, GP_PHASE_COUNT
} gp_phase;
#define GP_PHASE_BIT(phase) (1u << (phase))

typedef enum {
    GP_ITEM_WEIGHTS, GP_ITEM_GRADIENTS, GP_ITEM_MASTER_WEIGHTS, GP_ITEM_OPTIMIZER, GP_ITEM_ADAPTER,
    GP_ITEM_ACTIVATIONS, GP_ITEM_LOGITS, GP_ITEM_GATHER_BUFFERS, GP_ITEM_COMM_BUFFERS, GP_ITEM_OPTIMIZER_TEMP,
    GP_ITEM_KV_CACHE, GP_ITEM_RECURRENT_STATE, GP_ITEM_WORKSPACE, GP_ITEM_GRAPHS, GP_ITEM_CONTEXT,
    GP_ITEM_FRAGMENTATION, GP_ITEM_COUNT
} gp_item_id;

typedef struct {
    gp_item_id id;
    unsigned phases;      /* GP_PHASE_BIT set: when it is alive */
    gp_amount amount;
    double spread;        /* relative half-width of the 90 % range of this item */
} gp_allocation;

/* An id may occur more than once: parts of it with lifetimes and formulas of their own. */
#define GP_ALLOCATIONS_MAX 32
typedef struct {
    gp_stage_share share;
    int count;
    gp_allocation allocations[GP_ALLOCATIONS_MAX];
    unsigned phases;                          /* phases this task passes through */
    uint64_t phase_bytes[GP_PHASE_COUNT];     /* device bytes alive in each */
    uint64_t phase_allocated[GP_PHASE_COUNT]; /* the same without context, comm buffers and fragmentation */
    gp_phase peak_phase;
    double below, above;                      /* of the range: shares of a phase, beside the spread of its items */
    double more_in_prefill;                   /* bytes by which the upper end of that phase is further up */
    uint64_t peak_bytes, low_bytes, high_bytes; /* the range holds that of each phase: the largest low and high */
    uint64_t host_bytes;                      /* host memory for one GPU of this stage (offload) */
    uint64_t host_cache_bytes;                /* host memory for the cache of its layers that are not on the GPU (llama.cpp) */
    uint64_t saved_bytes;                     /* kept by forward for backward, logits included */
    uint64_t saved_by[GP_OP_COUNT + 1];       /* by operator where the step is replayed, all 0 elsewhere */
} gp_stage_ledger;

/* The device, resolved from catalogue or request. */
typedef struct {
    const gp_gpu_row *row;  /* NULL for a fully custom device */
    char name[GP_TEXT_BYTES];
    bool is_host;           /* "cpu" */
    double nominal_gb;
    uint64_t capacity_bytes;  /* visible to the driver; 0: a host of unknown size, whose usable_bytes hold any plan */
    uint64_t usable_bytes;    /* left to a process: capacity less what driver and firmware keep, at most the share
                                 that a serving engine takes (detailed); nominal GB less held_back_gb (textbook) */
} gp_device;

static inline bool gp_device_is_measured(const gp_device *device) { return device->capacity_bytes > 0; }

/* Resolves the job's device; unknown names and unknown memory become diagnostics. */
bool gp_device_find(const gp_job *job, gp_device *device, gp_diagnostics *diagnostics);
/* Of a custom device at fault otherwise: an unknown GPU that it is said to be like. */
void gp_device_check_like(const gp_job *job, gp_diagnostics *diagnostics);
/* What driver and firmware leave of the device, of a host all of it, whatever share of it a job may use. */
uint64_t gp_device_free_bytes(const gp_device *device);
/* Limits usable_bytes to the share of the device that the job's engine takes (infer.memory_utilization), where it goes
 * by one, and what it holds beside that share for a model (NULL: none is known). */
void gp_device_limit(const gp_job *job, const gp_model *model, gp_device *device);

/* What SGLang's share does not hold on a GPU: what is taken before it looks at the free memory, and what its passes and graphs
 * take of what it sets aside. */
typedef struct { double before, working; } gp_outside_share;
gp_outside_share gp_ledger_outside_share(const gp_job *job, const gp_model *model);

/* Builds the ledger of one stage for a job whose fields are all known. Chooses textbook or detailed by the job's
 * `ledger`, and training or inference by its task. Never fails: overflow saturates (gp_overflowed(peak_bytes)). */
void gp_ledger_stage(const gp_job *job, const gp_model *model, const gp_layout *layout, int64_t stage,
                     gp_stage_ledger *ledger);

/* Bytes below which no peak of a layout lies, whatever is recomputed, in the detailed ledger of a job that trains all
 * parameters: the states of its first stage, whose rows are in its ledger too. A higher stage of ZeRO divides each of them
 * by at least as much. 0: none is known, the split is still to be balanced. */
uint64_t gp_ledger_least(const gp_job *job, const gp_model *model, const gp_layout *layout);

const char *gp_item_key(gp_item_id id);   /* "kv_cache" */
const char *gp_phase_key(gp_phase phase); /* "backward" */

/* KV cache of the whole model for one token of one sequence, over all layers and before any sharding. */
uint64_t gp_kv_bytes_per_token(const gp_job *job, const gp_model *model);

/* The parts of gp_ledger_stage, one per file: ledger_training.c, ledger_inference.c, textbook.c. */
void gp_ledger_training(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger);
/* Rows of gp_ledger_training alone that hold weights, optimizer states and the gradients that last; needs the share. */
void gp_ledger_states(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger);
/* Activations, logits and working memory of a step replayed operator by operator, and the gradients of so many
 * parameters, which are made while it runs backward (0: they are not). Sets saved_bytes. */
void gp_ledger_replay(const gp_eager_step *step, const gp_model *model, const gp_layout *layout, double params,
                      gp_stage_ledger *ledger);
/* Temporaries of the optimizer's step over `params` trained parameters whose states are divided by `shards`. */
void gp_ledger_optimizer_step(const gp_job *job, const gp_model *model, const gp_layout *layout, double params,
                              double shards, gp_stage_ledger *ledger);
void gp_ledger_inference(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger);
void gp_ledger_textbook(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger);
/* Largest phase of what torch counts as allocated, over the allocations appended so far. */
uint64_t gp_ledger_allocated(const gp_stage_ledger *ledger);
/* Appends an allocation, adds it to its phases, and returns it. Amounts of 0 bytes are kept out of reports but may be
 * appended. */
gp_allocation *gp_ledger_append(gp_stage_ledger *ledger, gp_item_id id, unsigned phases, gp_amount amount,
                                double spread);

#endif
