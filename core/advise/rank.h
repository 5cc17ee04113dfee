/* rank.h: which hardware for a job: the job planned on every GPU of the catalogue, or on everything that is rented. */
#ifndef GP_RANK_H
#define GP_RANK_H

#include "plan/plan.h"

typedef enum { GP_RANK_GPUS, GP_RANK_INSTANCES } gp_rank_kind;

/* One way to run the job. */
typedef struct {
    const gp_gpu_row *gpu;
    const gp_instance_row *instance; /* NULL among GPUs */
    int64_t instances;               /* machines rented; 0 among GPUs */
    int64_t count;                   /* GPUs */
    bool answered;                   /* false: the job cannot be planned there, `fault` says why */
    gp_diagnostic fault;
    gp_verdict verdict;
    uint64_t peak_bytes, usable_bytes;
    bool serves;                     /* inference: the two below have a meaning */
    uint64_t max_context, max_concurrency;
    double tokens_per_s;             /* of all GPUs together, 0 = not known */
    double usd_per_hour;             /* of all machines together, 0 = not published */
    double usd_per_million_tokens;   /* 0 = not known */
} gp_rank_row;

/* Plans `request`, whose count of GPUs is ignored, on the rows of a catalogue that match `filter` (catalog.h), each
 * with the fewest GPUs that hold it: of GPUs what the solver takes (solve.h), of instances 1, 2, 4 … 64 machines; the
 * first number where it holds, else one machine. The order: what fits, what is tight, what does not fit, what cannot be
 * planned. Within these GPUs go by fewer cards, then by less memory; instances by the price of a million tokens where
 * every price and speed is known, else by the price of an hour, those without a price last.
 * Returns the rows, owned by the caller (free), and their number in *count; NULL when memory ran out. `plan` is room
 * for one plan. */
gp_rank_row *gp_rank(const gp_job *request, gp_rank_kind kind, const char *filter, gp_plan *plan, int *count);

#endif
