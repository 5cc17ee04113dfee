/* plan.h: everything a report says about one job, and how a job without open fields becomes figures. The solver
 * (solve.h), the advice (advise.h) and the whole (planner.h) build on it. */
#ifndef GP_PLAN_H
#define GP_PLAN_H

#include "ledger/ledger.h"
#include "timing/timing.h"

typedef enum { GP_FITS, GP_TIGHT, GP_NO } gp_verdict;

/* Memory of the worst GPU. With several pipeline stages each figure is the largest of any stage. */
typedef struct {
    uint64_t bytes, low_bytes, high_bytes;
    int64_t stage; /* the stage with the largest peak */
} gp_peak;

/* A field the solver filled; for "max" also the first value that does not fit. */
typedef struct {
    gp_field field; /* GP_FIELD_TOTAL stands for model.params */
    double value;
    double fails_at; /* 0 = none up to the field's limit, or not a maximum */
} gp_solution;

#define GP_SOLUTIONS_MAX 12
#define GP_ADVICE_MAX 16
#define GP_CHANGES_MAX 8
#define GP_CHANGE_BYTES 64
#define GP_STEP_COUNT 5
#define GP_STEP_NUMBERS_MAX 8
#define GP_STEP_TEXTS_MAX 4

/* One field that a knob sets, by its number or one of the two paths that have a grammar of their own. A change whose
 * `from` equals `to` holds a value in place that the solver had found. */
enum { GP_CHANGE_GPU = GP_FIELD_TOTAL, GP_CHANGE_PARAMS };
typedef struct {
    int field;
    char from[GP_CHANGE_BYTES], to[GP_CHANGE_BYTES];
} gp_change;

typedef enum { GP_COST_NONE, GP_COST_TIME, GP_COST_QUALITY, GP_COST_CAPACITY, GP_COST_HARDWARE } gp_cost_kind;

/* What a knob costs. low and high: TIME the relative slow-down of a step (negative: faster), CAPACITY the factor that
 * is left (above 1: gained), HARDWARE the factor of GPUs; both 0 = no figure is known. */
typedef struct {
    gp_cost_kind kind;
    double low, high;
    const char *source; /* "" = follows from the change itself */
} gp_cost;

typedef struct {
    const char *id; /* a KNOB of messages.def */
    int change_count;
    gp_change changes[GP_CHANGES_MAX];
    int64_t saves_bytes; /* peak before less peak after, on the worst GPU; negative when it uses more */
    uint64_t peak_bytes_after;
    gp_verdict verdict_after;
    gp_cost cost;
} gp_knob;

/* One of the five steps of the course procedure: numbers, the rule that applied and the constraint met first. */
typedef struct {
    const char *id;         /* a STEP of messages.def */
    const char *rule;       /* a RULE */
    const char *constraint; /* a CONSTRAINT, "" when none was met */
    int number_count;
    struct { const char *name; double value; } numbers[GP_STEP_NUMBERS_MAX];
    int text_count;
    struct { const char *name; char value[48]; } texts[GP_STEP_TEXTS_MAX];
} gp_step;

/* Key-value cache of an inference job. */
typedef struct {
    uint64_t bytes_per_token; /* of the whole model, before any sharding */
    uint64_t bytes;           /* this job's sequences on all GPUs together, copies of replicated heads not counted */
    uint64_t pool_bytes;      /* what the engine can give to the cache on all GPUs together; 0 without a cache */
    uint64_t max_tokens;      /* tokens that pool holds; 0 without a cache */
    uint64_t max_context;     /* longest context at this job's concurrency */
    uint64_t max_concurrency; /* most sequences at this job's context */
} gp_kv_figures;

/* The course's estimates; 0 = not given. */
typedef struct {
    double step_s, tokens_per_s, tokens_per_s_per_gpu, bubble, efficiency;
} gp_time_figures;

typedef struct {
    const gp_job *request; /* as asked, fields still open; borrowed */
    gp_job job;            /* with every field known that matters to its task */
    gp_model model;
    gp_device device;
    gp_layout layout;
    gp_peak peak;
    gp_verdict verdict;
    int64_t stage_count;
    gp_stage_ledger *stages; /* stage_count rows, owned; equal neighbours are folded by the report */
    gp_item_id binding_item; /* largest item alive at the peak that a knob can change */
    uint64_t binding_bytes;
    int solution_count;
    gp_solution solutions[GP_SOLUTIONS_MAX];
    gp_kv_figures kv;
    gp_time_figures time;
    gp_serving serving;
    gp_serving_curve curve;
    gp_step steps[GP_STEP_COUNT];
    int knob_count;
    gp_knob knobs[GP_ADVICE_MAX];
    gp_diagnostics diagnostics; /* errors, warnings and assumptions */
    gp_diagnostics scratch;     /* of attempts that are not the plan */
} gp_plan;

/* Prepares a plan: device, derived fields, model. `diagnostics` must be cleared, or hold what was found in reading the
 * job; further faults are added, those of a field already reported are not repeated. False when there are errors.
 * `request` must outlive the plan. */
bool gp_plan_begin(const gp_job *request, gp_plan *plan);

/* Peak over all stages of a job without open fields. */
gp_peak gp_plan_peak(const gp_job *job, const gp_model *model, const gp_layout *layout);
gp_verdict gp_plan_verdict(const gp_peak *peak, const gp_device *device);

/* Lays out a job without open fields and returns its verdict on the plan's device; GP_NO and a peak that overflowed
 * (quantity.h) when the layout is not valid. */
gp_verdict gp_plan_try(gp_plan *plan, const gp_job *job, const gp_model *model, gp_layout *layout, gp_peak *peak);

/* Ledgers of every stage, peak, verdict and binding item of a plan whose job has no open field. False when memory ran
 * out or a figure is beyond 2^53, with an error row. */
bool gp_plan_measure(gp_plan *plan);

/* The item of one stage: sum of its allocations of that id that are alive in `phase`. */
uint64_t gp_plan_item_bytes(const gp_stage_ledger *stage, gp_item_id id, gp_phase phase);

/* The most that allocations of a set of items (bits 1 << gp_item_id) take together in any one phase. Rows of one item that
 * belong to different phases are never added. */
uint64_t gp_plan_most_bytes(const gp_stage_ledger *stage, unsigned items);

/* Host memory of the node whose GPUs take most of it: of a single node the sum over its stages, else as if each of a node's
 * GPUs took as much as those of the stage that takes most. */
uint64_t gp_plan_host_bytes(const gp_plan *plan);

/* Key of a verdict: "fits"; the second one on the plan's device: "unknown" where memory is not known. */
const char *gp_verdict_name(gp_verdict verdict);
const char *gp_verdict_key(const gp_plan *plan, gp_verdict verdict);

/* Makes sure that a plan which could not be made says why: errors of the last attempt when there are no others, at the
 * least UNSOLVED. */
void gp_plan_explain(gp_plan *plan);

/* Releases what the plan owns, not the plan itself. */
void gp_plan_release(gp_plan *plan);

#endif
