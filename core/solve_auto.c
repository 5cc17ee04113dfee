#include "derive.h"
#include "solve.h"

/* Sharding and recompute from the cheapest to the dearest: optimizer states and gradients shard at no extra traffic
 * (Rajbhandari et al. 2020, arXiv:1910.02054, section 7), selective recompute costs a few per cent, ZeRO-3 half as much
 * traffic again, full recompute a third of the computation. */
enum { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL };
static const struct {
    int zero, recompute;
} thrift[] = {
    {0, RECOMPUTE_NONE},      {1, RECOMPUTE_NONE},      {2, RECOMPUTE_NONE}, {0, RECOMPUTE_SELECTIVE},
    {1, RECOMPUTE_SELECTIVE}, {2, RECOMPUTE_SELECTIVE}, {3, RECOMPUTE_NONE}, {3, RECOMPUTE_SELECTIVE},
    {0, RECOMPUTE_FULL},      {1, RECOMPUTE_FULL},      {2, RECOMPUTE_FULL}, {3, RECOMPUTE_FULL},
};
enum { THRIFT_COUNT = sizeof thrift / sizeof thrift[0] };

/* Fields of the search, outermost first. */
enum { COUNT, STAGES, TENSOR, ZERO, RECOMPUTE, CHOICE_COUNT };
static const gp_field choice_fields[CHOICE_COUNT] = {GP_FIELD_COUNT, GP_FIELD_PP, GP_FIELD_TP, GP_FIELD_ZERO,
                                                     GP_FIELD_RECOMPUTE};

typedef struct {
    int64_t values[CHOICE_COUNT];
} choice;

typedef struct {
    gp_plan *plan;
    bool open[CHOICE_COUNT];
    bool batch_follows; /* micro_batch is what global_batch and grad_accum leave */
    bool found, finished;
    choice best;
    gp_verdict best_verdict;
    uint64_t best_peak;
    uint64_t count_peak; /* smallest peak of the present count */
} search;

static int64_t known_or_one(const gp_job *job, gp_field field) {
    return gp_known(job, field) && gp_whole(job, field) > 0 ? gp_whole(job, field) : 1;
}

static void apply(const search *state, const choice *candidate) {
    gp_job *job = &state->plan->job;
    for (int i = 0; i < CHOICE_COUNT; i++)
        if (state->open[i]) gp_set_whole(job, choice_fields[i], candidate->values[i], GP_SOLVED);
    if (state->open[RECOMPUTE]) {
        static const char *const names[] = {"none", "selective", "full"};
        gp_set_choice(job, GP_FIELD_RECOMPUTE, names[candidate->values[RECOMPUTE]], GP_SOLVED);
    }
    gp_derive_framework(job);
    if (!state->batch_follows) return;
    int64_t inner = candidate->values[TENSOR] * candidate->values[STAGES] * known_or_one(job, GP_FIELD_CP);
    int64_t replicas = candidate->values[COUNT] / inner > 0 ? candidate->values[COUNT] / inner : 1;
    int64_t batch = gp_whole(job, GP_FIELD_GLOBAL_BATCH) / replicas / known_or_one(job, GP_FIELD_GRAD_ACCUM);
    int64_t most = (int64_t)gp_field_info(GP_FIELD_MICRO_BATCH)->max;
    gp_set_whole(job, GP_FIELD_MICRO_BATCH, batch < 1 ? 1 : batch > most ? most : batch, GP_SOLVED);
}

static void consider(search *state, const choice *candidate) {
    gp_peak peak;
    gp_layout layout;
    gp_plan *plan = state->plan;
    apply(state, candidate);
    gp_verdict verdict = gp_solve_try(plan, &plan->job, &plan->model, &layout, &peak);
    if (gp_overflowed(peak.bytes)) return;
    if (peak.bytes < state->count_peak) state->count_peak = peak.bytes;
    bool better = !state->found || verdict < state->best_verdict ||
                  (verdict == GP_NO && state->best_verdict == GP_NO && peak.bytes < state->best_peak);
    if (better) {
        state->found = true;
        state->best = *candidate;
        state->best_verdict = verdict;
        state->best_peak = peak.bytes;
    }
    state->finished = verdict == GP_FITS;
}

/* Sharding over one replica and a choice that is fixed make several rows the same. */
static void consider_thrift(search *state, choice *candidate) {
    unsigned tried = 0;
    int64_t fixed_zero = candidate->values[ZERO], fixed_recompute = candidate->values[RECOMPUTE];
    const gp_job *job = &state->plan->job;
    int64_t inner = candidate->values[STAGES] * candidate->values[TENSOR] * known_or_one(job, GP_FIELD_CP);
    bool one_replica = candidate->values[COUNT] <= inner;
    for (int i = 0; i < THRIFT_COUNT && !state->finished; i++) {
        if (state->open[ZERO]) candidate->values[ZERO] = one_replica ? 0 : thrift[i].zero;
        if (state->open[RECOMPUTE]) candidate->values[RECOMPUTE] = thrift[i].recompute;
        unsigned bit = 1u << (candidate->values[ZERO] * 4 + candidate->values[RECOMPUTE]);
        if ((tried & bit) != 0) continue;
        tried |= bit;
        consider(state, candidate);
    }
    candidate->values[ZERO] = fixed_zero;
    candidate->values[RECOMPUTE] = fixed_recompute;
}

static void consider_splits(search *state, choice *candidate, int64_t per_node) {
    int64_t count = candidate->values[COUNT];
    int64_t most_stages = state->open[STAGES] ? count : candidate->values[STAGES];
    int64_t first_stages = state->open[STAGES] ? 1 : candidate->values[STAGES];
    int64_t widest = count < per_node ? count : per_node;
    int64_t most_tensor = state->open[TENSOR] ? widest : candidate->values[TENSOR];
    int64_t first_tensor = state->open[TENSOR] ? 1 : candidate->values[TENSOR];
    for (int64_t stages = first_stages; stages <= most_stages && !state->finished; stages *= 2) {
        for (int64_t tensor = first_tensor; tensor <= most_tensor && !state->finished; tensor *= 2) {
            candidate->values[STAGES] = stages;
            candidate->values[TENSOR] = tensor;
            consider_thrift(state, candidate);
        }
    }
    candidate->values[STAGES] = first_stages;
    candidate->values[TENSOR] = first_tensor;
}

int64_t gp_solve_least_count(const gp_job *job) {
    static const gp_field degrees[2][3] = {{GP_FIELD_INFER_TP, GP_FIELD_INFER_PP, GP_FIELD_INFER_DP},
                                           {GP_FIELD_TP, GP_FIELD_PP, GP_FIELD_DP}};
    bool train = gp_is_training(job);
    uint64_t count = train ? (uint64_t)known_or_one(job, GP_FIELD_CP) : 1;
    for (int i = 0; i < 3; i++)
        if (gp_origin_of(job, degrees[train][i]) == GP_GIVEN)
            count = gp_mul(count, (uint64_t)known_or_one(job, degrees[train][i]));
    return count < INT64_MAX ? (int64_t)count : INT64_MAX;
}

/* Counts are the least one times 1, 2, 4 … A doubling that lowers no peak ends the search. */
static void consider_counts(search *state, choice *candidate) {
    const gp_job *job = &state->plan->job;
    int64_t per_node = known_or_one(job, GP_FIELD_PER_NODE);
    if (!state->open[COUNT]) {
        consider_splits(state, candidate, per_node);
        return;
    }
    int64_t most = (int64_t)gp_field_info(GP_FIELD_COUNT)->max;
    uint64_t before = UINT64_MAX;
    for (int64_t count = gp_solve_least_count(job); count <= most && !state->finished; count *= 2) {
        candidate->values[COUNT] = count;
        state->count_peak = UINT64_MAX;
        consider_splits(state, candidate, per_node);
        if (!gp_overflowed(before) && state->count_peak >= before) break;
        before = state->count_peak;
    }
}

/* A batch left open: the largest power of two that fits with the choices made, at most what a stated global batch
 * gives one replica. */
static void grow_batch(gp_plan *plan, const gp_layout *layout) {
    enum { LARGEST_OPEN_BATCH = 64 };
    gp_job *job = &plan->job;
    bool stated = gp_known(job, GP_FIELD_GLOBAL_BATCH);
    int64_t most = stated ? gp_whole(job, GP_FIELD_GLOBAL_BATCH) / layout->dp : LARGEST_OPEN_BATCH;
    int64_t best = 1;
    for (int64_t batch = 2; batch <= most; batch *= 2) {
        gp_peak peak;
        gp_layout tried;
        gp_set_whole(job, GP_FIELD_MICRO_BATCH, batch, GP_SOLVED);
        if (gp_solve_try(plan, job, &plan->model, &tried, &peak) != GP_FITS) break;
        best = batch;
    }
    gp_set_whole(job, GP_FIELD_MICRO_BATCH, best, GP_SOLVED);
}

static void start(search *state, gp_plan *plan, choice *candidate) {
    const gp_job *job = &plan->job;
    *state = (search){.plan = plan, .best_verdict = GP_NO};
    for (int i = 0; i < CHOICE_COUNT; i++) {
        bool training_only = choice_fields[i] != GP_FIELD_COUNT;
        bool applies = gp_is_training(job) || !training_only;
        state->open[i] = applies && gp_origin_of(job, choice_fields[i]) == GP_AUTO;
        candidate->values[i] = gp_known(job, choice_fields[i]) ? gp_whole(job, choice_fields[i]) : 0;
        if (i <= TENSOR && candidate->values[i] < 1) candidate->values[i] = 1;
    }
}

bool gp_solve_choices(gp_plan *plan) {
    search state;
    choice plainest;
    gp_job *job = &plan->job;
    start(&state, plan, &plainest);
    bool batch_open = gp_is_training(job) && gp_origin_of(job, GP_FIELD_MICRO_BATCH) == GP_AUTO;
    state.batch_follows = batch_open && gp_known(job, GP_FIELD_GLOBAL_BATCH) && gp_known(job, GP_FIELD_GRAD_ACCUM);
    if (batch_open) gp_set_whole(job, GP_FIELD_MICRO_BATCH, 1, GP_SOLVED);
    choice candidate = plainest;
    consider_counts(&state, &candidate);
    apply(&state, state.found ? &state.best : &plainest);
    gp_diagnostics *rows = state.found ? &plan->scratch : &plan->diagnostics;
    if (!gp_layout_build(job, &plan->model, &plan->layout, rows)) return false;
    if (batch_open && !state.batch_follows && state.best_verdict == GP_FITS) grow_batch(plan, &plan->layout);
    for (int i = 0; i < CHOICE_COUNT; i++)
        if (state.open[i]) gp_solve_record(plan, choice_fields[i], (double)gp_whole(job, choice_fields[i]), 0);
    if (batch_open) gp_solve_record(plan, GP_FIELD_MICRO_BATCH, (double)gp_whole(job, GP_FIELD_MICRO_BATCH), 0);
    plan->verdict = state.best_verdict;
    return true;
}
