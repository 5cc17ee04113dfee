/* plan.h: everything a report says about one job. */
#ifndef GP_PLAN_H
#define GP_PLAN_H

#include "ledger.h"

typedef enum { GP_FITS, GP_TIGHT, GP_NO } gp_verdict;

/* A field the solver filled: its value, and for "max" the first value that does not fit (0 = none up to the limit). */
typedef struct {
    gp_field field; /* GP_FIELD_COUNT stands for model.params */
    double value;
    double fails_at;
} gp_solution;

#define GP_SOLUTIONS_MAX 12
#define GP_ADVICE_MAX 12
#define GP_STEP_COUNT 5
#define GP_STEP_NUMBERS_MAX 8

/* A knob: fields to set, what it frees on the binding GPU, what it costs. */
typedef enum { GP_COST_NONE, GP_COST_TIME, GP_COST_QUALITY, GP_COST_HARDWARE, GP_COST_CAPACITY } gp_cost_kind;
typedef struct {
    const char *id;           /* key of its text: "recompute_full", "zero_up", "shorter_sequence", … */
    int set_count;
    struct { const char *path; char from[48]; char to[48]; } set[3];
    int64_t saves_bytes;      /* peak before less peak after, on the worst GPU; negative when it uses more */
    uint64_t peak_bytes_after;
    gp_verdict verdict_after;
    gp_cost_kind cost;
    double cost_low, cost_high; /* TIME: relative slow-down; CAPACITY: factor left; HARDWARE: factor of GPUs */
    const char *cost_source;
} gp_knob;

/* One of the five steps of the course procedure: a number, the rule applied and the constraint met first. */
typedef struct {
    const char *id;         /* memory, sharding, model_parallel, batch, precision */
    const char *rule;       /* key of the rule that applied: "zero1_enough", "layer_fits", … */
    const char *constraint; /* key of the constraint hit first, "" when none */
    int number_count;
    struct { const char *name; double value; } numbers[GP_STEP_NUMBERS_MAX];
    int text_count;
    struct { const char *name; char value[48]; } texts[4];
} gp_step;

typedef struct {
    gp_job job;        /* with every field known */
    gp_model model;
    gp_device device;
    gp_layout layout;
    int64_t stage_count;
    gp_stage_ledger *stages;  /* stage_count rows, owned; equal neighbours are folded by the report */
    int64_t worst_stage;
    gp_verdict verdict;
    int64_t over_bytes;       /* peak less usable on the worst GPU: positive when it does not fit */
    gp_item_id binding_item;  /* largest item alive at the peak that a knob can change */
    int solution_count;
    gp_solution solutions[GP_SOLUTIONS_MAX];
    uint64_t kv_bytes_per_token, kv_bytes, kv_max_tokens, kv_max_context, kv_max_concurrency;
    gp_step steps[GP_STEP_COUNT];
    int knob_count;
    gp_knob knobs[GP_ADVICE_MAX];
    double step_s, tokens_per_s, tokens_per_s_per_gpu, bubble, efficiency; /* textbook estimates; 0 = not given */
    gp_diagnostics diagnostics; /* errors, warnings and assumptions */
} gp_plan;

/* Plans a job. With `detail`, fills steps, knobs and every stage; without, only what a brief report prints.
 * Errors are rows of plan->diagnostics; returns false when there are any. `plan` must be released either way. */
bool gp_plan_make(const gp_job *job, bool detail, gp_plan *plan);
void gp_plan_release(gp_plan *plan);

#endif
