/* rank.h: which hardware for a job: the job planned on every GPU of the catalogue, or on everything that is rented. And which
 * model for the hardware: the job planned with every model of the catalogue. */
#ifndef GP_RANK_H
#define GP_RANK_H

#include "plan/plan.h"

typedef enum { GP_RANK_GPUS, GP_RANK_INSTANCES, GP_RANK_MODELS } gp_rank_kind;

/* One way to run the job. */
typedef struct {
    const gp_gpu_row *gpu;           /* NULL among models */
    const gp_instance_row *instance; /* NULL among GPUs and models */
    int64_t instances;               /* machines rented; 0 among GPUs and models */
    gp_model_row model;              /* all zero but among models */
    uint64_t params;                 /* of the model */
    int64_t trained_context;         /* tokens that the model is made for, 0 = not known */
    int64_t count;                   /* GPUs */
    bool answered;                   /* false: the job cannot be planned there, `fault` says why */
    gp_diagnostic fault;
    gp_verdict verdict;
    uint64_t peak_bytes, usable_bytes;
    bool serves;                     /* inference: the two below have a meaning */
    uint64_t max_context, max_concurrency;
    gp_range tokens_per_s;           /* of all GPUs together; of training there is no range. 0 = not known */
    double sequences;                /* that run at once at the job's concurrency, 0 = not known */
    bool has_targets;                /* the job names times to keep; so many keep them: */
    double within_targets;
    double usd_per_hour;             /* of all machines together, 0 = not published */
    gp_range usd_per_million_tokens; /* 0 = not known */
    double usd_per_user_hour;        /* an hour over the sequences that run at once, or that keep the targets; 0 = not known */
} gp_rank_row;

/* Plans `request`, whose count of GPUs is ignored, on the rows of a catalogue that match `filter` (catalog.h), each
 * with the fewest GPUs that hold it: of GPUs what the solver takes (solve.h), of instances 1, 2, 4 … 64 machines; the
 * first number where it holds, else one machine. Models take the place of the job's on the hardware that it states. GPUs
 * that the job's engine or framework has no kernels for are left out. The order: what fits, what is tight (one with the former
 * where the job asks for the most that fits), what does not fit, what cannot be planned. Within these GPUs go by fewer cards, then by
 * less memory; instances by the price of a million tokens where every price and speed is known, else by the price of an
 * hour, those without a price last; models by their size, the largest first, and of those that do not fit the smallest.
 * Returns the rows, owned by the caller (free), and their number in *count; NULL when memory ran out. `plan` is room
 * for one plan. */
gp_rank_row *gp_rank(const gp_job *request, gp_rank_kind kind, const char *filter, gp_plan *plan, int *count);

#endif
