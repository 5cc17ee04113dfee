#include "plan/search.h"
#include "plan/solve.h"

/* Sizes of model are tried in steps of a million parameters. */
#define PARAMS_STEP 1000000u
#define PARAMS_MOST 100000000u /* steps: 10^14 parameters */

/* What grows: a field, or the model's size (GP_FIELD_TOTAL). */
typedef struct {
    gp_plan *plan;
    gp_field field;
    const gp_job *open; /* the job with its choices still to be made, NULL when there are none */
} ladder;

/* While sizes are tried the request still says "max" (model.h). */
static void set_size(gp_job *job, uint64_t millions, bool settled) {
    job->model.source = GP_MODEL_SHAPES;
    job->model.params_max = !settled;
    job->model.params = (double)(millions * PARAMS_STEP);
}

static bool set_value(const ladder *state, uint64_t value) {
    gp_plan *plan = state->plan;
    if (state->field != GP_FIELD_TOTAL) {
        gp_set_whole(&plan->job, state->field, (int64_t)value, GP_SOLVED);
        return true;
    }
    set_size(&plan->job, value, false);
    gp_diagnostics_clear(&plan->scratch);
    return gp_model_build(&plan->job, &plan->model, &plan->scratch);
}

/* Peak with the value set and the choices as they are; UINT64_MAX where the value gives no valid job. */
static uint64_t peak_at(const ladder *state, uint64_t value) {
    gp_plan *plan = state->plan;
    gp_peak peak;
    gp_layout layout;
    if (!set_value(state, value)) return UINT64_MAX;
    gp_plan_try(plan, &plan->job, &plan->model, &layout, &peak);
    return peak.bytes;
}

/* The same with the choices that need least, which stay the plan's. */
static uint64_t least_peak_at(const ladder *state, uint64_t value) {
    gp_plan *plan = state->plan;
    gp_search search;
    if (state->open == NULL) return peak_at(state, value);
    plan->job = *state->open;
    if (!set_value(state, value)) return UINT64_MAX;
    gp_search_start(&search, plan, GP_SEARCH_FRUGAL);
    gp_search_count(&search, search.plainest.values[GP_CHOICE_COUNT]);
    gp_search_apply(&search);
    return search.found ? search.best_peak.bytes : UINT64_MAX;
}

/* ---- A climb with the choices as they are ---- */

/* A bracket: `low` fits, `high` does not. */
typedef struct {
    uint64_t low, high, low_peak, high_peak;
} bracket;

/* Peaks are nearly straight lines in what grows, so the chord's crossing is tried first; every third step halves the
 * bracket, which bounds the number of steps whatever the curve. */
static uint64_t next_value(const bracket *between, int step, uint64_t usable) {
    uint64_t width = between->high - between->low;
    uint64_t inside = width / 2;
    if (step % 3 != 2 && !gp_overflowed(between->high_peak)) {
        double share = (double)(usable - between->low_peak) / (double)(between->high_peak - between->low_peak);
        inside = (uint64_t)(share * (double)width);
    }
    if (inside < 1) inside = 1;
    if (inside > width - 1) inside = width - 1;
    return between->low + inside;
}

static uint64_t climb(const ladder *state, uint64_t least, uint64_t most, uint64_t *fails_at) {
    uint64_t usable = state->plan->device.usable_bytes;
    bracket between = {.low = least, .low_peak = peak_at(state, least)};
    *fails_at = least;
    if (between.low_peak > usable) return 0;
    for (between.high = least;;) {
        *fails_at = 0;
        if (between.high == most) return most;
        between.high = between.low > most / 16 ? most : between.low * 16;
        between.high_peak = peak_at(state, between.high);
        if (between.high_peak > usable) break;
        between.low = between.high;
        between.low_peak = between.high_peak;
    }
    for (int step = 0; between.high - between.low > 1; step++) {
        uint64_t value = next_value(&between, step, usable);
        uint64_t peak = peak_at(state, value);
        if (peak > usable) {
            between.high = value;
            between.high_peak = peak;
        } else {
            between.low = value;
            between.low_peak = peak;
        }
    }
    *fails_at = between.high;
    return between.low;
}

/* Where the family of models goes over to more heads and layers, a size may need less than one just below it. */
static uint64_t larger_size_that_fits(const ladder *state, uint64_t value) {
    enum { LOOKS = 8, PART = 32 };
    uint64_t usable = state->plan->device.usable_bytes;
    for (uint64_t i = 1; state->field == GP_FIELD_TOTAL && i <= LOOKS; i++) {
        uint64_t larger = value + value * i / PART;
        if (larger > value && larger <= PARAMS_MOST && peak_at(state, larger) <= usable) return larger;
    }
    return 0;
}

/* The largest value that some choice of the open fields holds: up with the choices that need least, which are made anew
 * where they no longer fit, until none does. */
static uint64_t largest(const ladder *state, uint64_t least, uint64_t most, uint64_t *fails_at) {
    uint64_t usable = state->plan->device.usable_bytes, from = least;
    *fails_at = least;
    if (least_peak_at(state, least) > usable) return 0;
    for (;;) {
        uint64_t value = climb(state, from, most, fails_at);
        if (*fails_at == 0) return value;
        from = *fails_at;
        if (state->open != NULL && least_peak_at(state, from) <= usable) continue;
        from = larger_size_that_fits(state, value);
        if (from == 0) return value;
    }
}

uint64_t gp_solve_largest(gp_plan *plan, gp_field field, uint64_t least, uint64_t *fails_at) {
    gp_setting kept = plan->job.settings[field];
    ladder state = {.plan = plan, .field = field};
    uint64_t value = climb(&state, least, (uint64_t)gp_field_info(field)->max, fails_at);
    plan->job.settings[field] = kept;
    return value;
}

/* ---- The micro-batch beside a stated global batch: only what divides a replica's share of it ---- */

/* Index of the largest of a replica's divisors that fits from `low` up, which does, with the choices as they are. */
static int climb_divisors(const ladder *state, const gp_divisors *list, int low) {
    uint64_t usable = state->plan->device.usable_bytes;
    int high = list->count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (peak_at(state, list->values[middle]) > usable)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Largest divisor of the replicas' share that fits with the degrees of the ladder's open job; 0 when none does. */
static uint64_t largest_divisor(const ladder *state, uint64_t share) {
    gp_divisors list;
    gp_divisors_of(share, &list);
    double most = gp_field_info(state->field)->max;
    while (list.count > 1 && (double)list.values[list.count - 1] > most) list.count--;
    uint64_t usable = state->plan->device.usable_bytes;
    int low = -1;
    for (int next = 0; next < list.count && least_peak_at(state, list.values[next]) <= usable; next = low + 1)
        low = climb_divisors(state, &list, next);
    return low < 0 ? 0 : list.values[low];
}

/* Sequences of a replica for each way of splitting the model. */
#define SHARES_MAX 128
typedef struct {
    int count;
    uint64_t values[SHARES_MAX];
} share_list;

static void try_split(const ladder *state, share_list *shares, uint64_t *best) {
    gp_plan *plan = state->plan;
    gp_layout layout;
    plan->job = *state->open;
    gp_set_whole(&plan->job, state->field, 1, GP_SOLVED);
    gp_diagnostics_clear(&plan->scratch);
    gp_layout_build(&plan->job, &plan->model, &layout, &plan->scratch);
    uint64_t share = (uint64_t)(gp_whole(&plan->job, GP_FIELD_GLOBAL_BATCH) / layout.dp);
    if (shares->count < SHARES_MAX) shares->values[shares->count++] = share > 0 ? share : 1;
    uint64_t value = largest_divisor(state, share > 0 ? share : 1);
    if (value > *best) *best = value;
}

/* The next micro-batch that could be tried: the least divisor of a share beyond `value`. */
static uint64_t next_divisor(const share_list *shares, uint64_t value) {
    double most = gp_field_info(GP_FIELD_MICRO_BATCH)->max;
    uint64_t next = 0;
    for (int i = 0; i < shares->count; i++) {
        gp_divisors list;
        gp_divisors_of(shares->values[i], &list);
        int at = 0;
        while (at < list.count && list.values[at] <= value) at++;
        bool possible = at < list.count && (double)list.values[at] <= most;
        if (possible && (next == 0 || list.values[at] < next)) next = list.values[at];
    }
    return next;
}

static uint64_t largest_of_batch(const ladder *state, uint64_t *fails_at) {
    gp_plan *plan = state->plan;
    gp_job split = *state->open;
    share_list shares = {.count = 0};
    gp_search degrees;
    plan->job = split;
    gp_search_start(&degrees, plan, GP_SEARCH_FRUGAL);
    int64_t count = degrees.plainest.values[GP_CHOICE_COUNT];
    int64_t per_node = gp_whole(&split, GP_FIELD_PER_NODE);
    int64_t most_stages = gp_search_most(&degrees, GP_CHOICE_STAGES, count);
    int64_t most_tensor = gp_search_most(&degrees, GP_CHOICE_TENSOR, count < per_node ? count : per_node);
    ladder one = {.plan = plan, .field = state->field, .open = &split};
    uint64_t best = 0;
    for (int64_t pp = gp_search_first(&degrees, GP_CHOICE_STAGES); pp <= most_stages; pp *= 2)
        for (int64_t tp = gp_search_first(&degrees, GP_CHOICE_TENSOR); tp <= most_tensor; tp *= 2) {
            if (degrees.open[GP_CHOICE_STAGES]) gp_set_whole(&split, GP_FIELD_PP, pp, GP_SOLVED);
            if (degrees.open[GP_CHOICE_TENSOR]) gp_set_whole(&split, GP_FIELD_TP, tp, GP_SOLVED);
            try_split(&one, &shares, &best);
        }
    *fails_at = next_divisor(&shares, best);
    return best;
}

/* ---- The maximum of a job ---- */

gp_field gp_solve_maximised(const gp_job *job) {
    int field = 0;
    while (field < GP_FIELD_TOTAL && job->settings[field].origin != GP_MAX) field++;
    return (gp_field)field;
}

/* Value that a maximised field has while the count of GPUs is found. */
static int64_t usual_value(const gp_job *job, gp_field field) {
    if (field == GP_FIELD_SEQ_LEN) return 2048;
    if (field != GP_FIELD_CONTEXT) return 1;
    int64_t tokens = gp_whole(job, GP_FIELD_PROMPT) + gp_whole(job, GP_FIELD_OUTPUT);
    return tokens > 0 ? tokens : 1;
}

/* More GPUs always hold more, so an open count is settled first: the fewest GPUs that hold the job at a usual value of
 * the field, at 1 where none hold that; for a model's size the least there can be. */
static bool settle_count(gp_plan *plan, gp_field field) {
    gp_job open = plan->job;
    int64_t count = gp_solve_least_count(&open);
    if (field != GP_FIELD_TOTAL) {
        gp_set_whole(&plan->job, field, usual_value(&open, field), GP_SOLVED);
        if (!gp_solve_choices(plan)) return false;
        if (plan->verdict == GP_NO && usual_value(&open, field) > 1) {
            plan->job = open;
            gp_set_whole(&plan->job, field, 1, GP_SOLVED);
            if (!gp_solve_choices(plan)) return false;
        }
        count = gp_whole(&plan->job, GP_FIELD_COUNT);
    }
    plan->job = open;
    plan->solution_count = 0;
    gp_set_whole(&plan->job, GP_FIELD_COUNT, count, GP_SOLVED);
    gp_solve_record(plan, GP_FIELD_COUNT, (double)count, 0);
    return true;
}

/* The smallest model that has the stated dimensions, in steps; 0 after an error row: where width, depth and feed-forward
 * block are all stated, there is nothing left to grow. */
static uint64_t least_size(gp_plan *plan) {
    const gp_model_request *request = &plan->job.model;
    if (request->layers > 0 && request->hidden > 0 && (request->ffn > 0 || request->has_moe)) {
        gp_argue_text(gp_diagnose(&plan->diagnostics, GP_CODE_NOT_SOLVABLE, "model.params"), "value", "max");
        return 0;
    }
    set_size(&plan->job, 1, false);
    gp_diagnostics_clear(&plan->scratch);
    if (!gp_model_build(&plan->job, &plan->model, &plan->scratch)) {
        gp_plan_explain(plan);
        return 0;
    }
    return gp_div_ceil(plan->model.total_params, PARAMS_STEP);
}

/* Context parallelism divides a sequence evenly: the largest multiple that fits, and the next one. */
static uint64_t round_to_ranks(const gp_job *job, uint64_t value, uint64_t *fails_at) {
    uint64_t ranks = gp_known(job, GP_FIELD_CP) ? (uint64_t)gp_whole(job, GP_FIELD_CP) : 1;
    uint64_t multiple = value - value % ranks;
    if (ranks <= 1 || (*fails_at == 0 && multiple == value)) return value;
    *fails_at = multiple > 0 ? multiple + ranks : ranks;
    if ((double)*fails_at > gp_field_info(GP_FIELD_SEQ_LEN)->max) *fails_at = 0;
    return multiple > 0 ? multiple : ranks;
}

/* Sets the value found and makes the choices for it. */
static bool settle(gp_plan *plan, gp_field field, uint64_t value, uint64_t fails_at) {
    gp_job *job = &plan->job;
    if (field == GP_FIELD_TOTAL) {
        set_size(job, value, true);
        if (!gp_model_build(job, &plan->model, &plan->diagnostics)) return false;
    } else {
        gp_set_whole(job, field, (int64_t)value, GP_SOLVED);
    }
    if (!gp_solve_choices(plan)) return false;
    double step = field == GP_FIELD_TOTAL ? PARAMS_STEP : 1;
    gp_solve_record(plan, field, (double)value * step, (double)fails_at * step);
    return true;
}

bool gp_solve_maximum(gp_plan *plan) {
    gp_field field = gp_solve_maximised(&plan->job);
    uint64_t fails_at = 0, least = 1, most = PARAMS_MOST, value = 0;
    if (field == GP_FIELD_TOTAL) {
        least = least_size(plan);
        if (least == 0) return false;
    } else {
        most = (uint64_t)gp_field_info(field)->max;
    }
    if (gp_origin_of(&plan->job, GP_FIELD_COUNT) == GP_AUTO && !settle_count(plan, field)) return false;
    const gp_job open = plan->job;
    ladder state = {.plan = plan, .field = field, .open = &open};
    if (field == GP_FIELD_MICRO_BATCH && gp_known(&open, GP_FIELD_GLOBAL_BATCH)) {
        value = largest_of_batch(&state, &fails_at);
    } else {
        if (!gp_search_is_open(&open)) state.open = NULL;
        value = largest(&state, least, most, &fails_at);
    }
    plan->job = open;
    if (field == GP_FIELD_SEQ_LEN) value = round_to_ranks(&open, value, &fails_at);
    return settle(plan, field, value > 0 ? value : least, fails_at);
}
