#include "solve.h"

/* Sizes of model are tried in steps of a million parameters. */
#define PARAMS_STEP 1000000u
#define PARAMS_MOST 100000000u /* steps: 10^14 parameters */

/* What grows: a field, or the model's size (GP_FIELD_TOTAL). */
typedef struct {
    gp_plan *plan;
    gp_field field;
    gp_model model; /* of the size tried last */
} ladder;

static void set_size(gp_job *job, uint64_t millions) {
    job->model.source = GP_MODEL_SHAPES;
    job->model.params_max = false;
    job->model.params = (double)(millions * PARAMS_STEP);
}

/* Peak with the value set; UINT64_MAX where the value gives no valid job. */
static uint64_t peak_at(ladder *state, uint64_t value) {
    gp_plan *plan = state->plan;
    gp_peak peak;
    gp_layout layout;
    const gp_model *model = &plan->model;
    if (state->field == GP_FIELD_TOTAL) {
        set_size(&plan->job, value);
        gp_diagnostics_clear(&plan->scratch);
        if (!gp_model_build(&plan->job, &state->model, &plan->scratch)) return UINT64_MAX;
        model = &state->model;
    } else {
        gp_set_whole(&plan->job, state->field, (int64_t)value, GP_SOLVED);
    }
    gp_solve_try(plan, &plan->job, model, &layout, &peak);
    return peak.bytes;
}

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

static uint64_t climb(ladder *state, uint64_t least, uint64_t most, uint64_t *fails_at) {
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

/* No number below 2^31 has more divisors than 1,536. */
#define DIVISORS_MAX 1536
typedef struct {
    int count;
    uint64_t values[DIVISORS_MAX];
} divisors;

static void find_divisors(uint64_t number, divisors *list) {
    list->count = 0;
    for (uint64_t i = 1; i * i <= number; i++)
        if (number % i == 0) list->values[list->count++] = i;
    for (int i = list->count - 1; i >= 0; i--) {
        uint64_t partner = number / list->values[i];
        if (partner != list->values[list->count - 1]) list->values[list->count++] = partner;
    }
}

/* A stated global batch allows only the micro-batches that divide a replica's share of it. */
static uint64_t climb_divisors(ladder *state, uint64_t share, uint64_t *fails_at) {
    divisors list;
    find_divisors(share, &list);
    double most = gp_field_info(state->field)->max;
    while (list.count > 1 && (double)list.values[list.count - 1] > most) list.count--;
    uint64_t usable = state->plan->device.usable_bytes;
    int low = -1, high = list.count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (peak_at(state, list.values[middle]) > usable)
            high = middle;
        else
            low = middle;
    }
    *fails_at = high < list.count ? list.values[high] : 0;
    return low < 0 ? 0 : list.values[low];
}

static uint64_t largest(ladder *state, uint64_t least, uint64_t *fails_at) {
    const gp_plan *plan = state->plan;
    const gp_job *job = &plan->job;
    bool batch = state->field == GP_FIELD_MICRO_BATCH && gp_known(job, GP_FIELD_GLOBAL_BATCH);
    if (batch) {
        uint64_t share = (uint64_t)(gp_whole(job, GP_FIELD_GLOBAL_BATCH) / plan->layout.dp);
        return climb_divisors(state, share > 0 ? share : 1, fails_at);
    }
    return climb(state, least, (uint64_t)gp_field_info(state->field)->max, fails_at);
}

uint64_t gp_solve_largest(gp_plan *plan, gp_field field, uint64_t least, uint64_t *fails_at) {
    gp_setting kept = plan->job.settings[field];
    ladder state = {.plan = plan, .field = field};
    uint64_t value = largest(&state, least, fails_at);
    plan->job.settings[field] = kept;
    return value;
}

/* The model of a size, as the plan's; rows of the attempt are of no interest. */
static bool take_size(gp_plan *plan, uint64_t millions) {
    set_size(&plan->job, millions);
    gp_diagnostics_clear(&plan->scratch);
    return gp_model_build(&plan->job, &plan->model, &plan->scratch);
}

static bool choose_for_size(gp_plan *plan, const gp_job *open, uint64_t millions) {
    plan->job = *open;
    plan->solution_count = 0;
    return take_size(plan, millions) && gp_solve_choices(plan);
}

bool gp_solve_size(gp_plan *plan) {
    gp_job *job = &plan->job;
    bool count_open = gp_origin_of(job, GP_FIELD_COUNT) == GP_AUTO;
    /* More GPUs always hold a larger model, so an open count is the least there can be. */
    if (count_open) gp_set_whole(job, GP_FIELD_COUNT, gp_solve_least_count(job), GP_SOLVED);
    gp_job open = *job;
    ladder state = {.plan = plan, .field = GP_FIELD_TOTAL};
    uint64_t fails_at = 0;
    if (!choose_for_size(plan, &open, PARAMS_MOST)) return false;
    uint64_t millions = climb(&state, 1, PARAMS_MOST, &fails_at);
    if (millions == 0) millions = 1;
    if (!choose_for_size(plan, &open, millions)) return false;
    uint64_t more = climb(&state, millions, PARAMS_MOST, &fails_at);
    if (more > millions) millions = more;
    set_size(job, millions);
    if (count_open) gp_solve_record(plan, GP_FIELD_COUNT, (double)gp_whole(job, GP_FIELD_COUNT), 0);
    gp_solve_record(plan, GP_FIELD_TOTAL, job->model.params, (double)fails_at * PARAMS_STEP);
    return gp_model_build(job, &plan->model, &plan->diagnostics);
}

bool gp_solve_maximum(gp_plan *plan) {
    int field = 0;
    while (field < GP_FIELD_TOTAL && plan->job.settings[field].origin != GP_MAX) field++;
    if (field == GP_FIELD_TOTAL) return true;
    uint64_t fails_at = 0;
    uint64_t value = gp_solve_largest(plan, (gp_field)field, 1, &fails_at);
    if (value == 0) value = 1;
    gp_set_whole(&plan->job, (gp_field)field, (int64_t)value, GP_SOLVED);
    gp_solve_record(plan, (gp_field)field, (double)value, (double)fails_at);
    return true;
}
