#include "plan/derive.h"
#include "plan/search.h"
#include "plan/solve.h"

static int64_t known_or_one(const gp_job *job, gp_field field) {
    return gp_known(job, field) && gp_whole(job, field) > 0 ? gp_whole(job, field) : 1;
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

/* ---- How many GPUs ---- */

/* Counts that are tried: multiples of `least`, up to a node any, beyond it whole nodes. */
typedef struct {
    gp_search *search;
    int64_t least, per_node, most;
} count_range;

static int64_t greatest_common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Of nodes with hundreds of GPUs not every number is tried. */
static void try_within_node(const count_range *range) {
    enum { FEW = 16, STEP = 8 };
    int64_t most = range->per_node < range->most ? range->per_node : range->most;
    gp_search_count(range->search, range->least);
    for (int64_t count = range->least * 2; count <= most && !range->search->finished; count += range->least)
        if (count <= FEW || count % STEP == 0) gp_search_count(range->search, count);
}

/* Whole nodes between `low`, which do not fit, and those of the search, which do. */
static void try_fewer_nodes(const count_range *range, const gp_search *before, int64_t unit, int64_t low,
                            int64_t high) {
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        gp_search attempt = *before;
        gp_search_count(&attempt, unit * middle);
        if (attempt.finished) {
            *range->search = attempt;
            high = middle;
        } else {
            low = middle;
        }
    }
}

/* Whether a count has surely lowered the smallest peak. Of peaks that were passed over only a lower bound is known. */
static bool has_lowered(const gp_search *search, const gp_search *before) {
    uint64_t lowest = before->least_peak < before->passed_over ? before->least_peak : before->passed_over;
    bool unknown = !search->found && search->passed_over == UINT64_MAX;
    return search->finished || unknown || search->least_peak < lowest;
}

/* Twice the nodes until they fit, then as few as fit. A doubling that lowers no peak ends the search. */
static void try_nodes(const count_range *range) {
    gp_search *search = range->search;
    int64_t unit = range->least / greatest_common_divisor(range->least, range->per_node);
    if (unit > range->most / range->per_node) return;
    unit *= range->per_node;
    int64_t tried = range->per_node > range->least ? range->per_node : range->least, low = tried / unit;
    for (int64_t nodes = low + 1; nodes <= range->most / unit; nodes *= 2) {
        const gp_search before = *search;
        gp_search_count(search, unit * nodes);
        if (search->finished) try_fewer_nodes(range, &before, unit, low, nodes);
        if (search->finished || !has_lowered(search, &before)) return;
        low = nodes;
    }
}

static bool is_tried(const count_range *range, int64_t count) {
    return count == range->least || count <= range->per_node || count % range->per_node == 0;
}

/* The next larger count whose replicas can share out the global batch. */
static int64_t next_for_batch(const count_range *range, const gp_divisors *replicas, int64_t after) {
    const gp_search *search = range->search;
    int64_t context = known_or_one(&search->plan->job, GP_FIELD_CP), next = INT64_MAX;
    int64_t most_stages = gp_search_most(search, GP_CHOICE_STAGES, search->plan->model.shape.layers);
    int64_t most_tensor = gp_search_most(search, GP_CHOICE_TENSOR, range->per_node);
    for (int64_t stages = gp_search_first(search, GP_CHOICE_STAGES); stages <= most_stages; stages *= 2)
        for (int64_t tensor = gp_search_first(search, GP_CHOICE_TENSOR); tensor <= most_tensor; tensor *= 2)
            for (int i = 0; i < replicas->count; i++) {
                int64_t count = stages * tensor * context * (int64_t)replicas->values[i];
                if (count >= next || count > range->most) break;
                if (count > after && count % range->least == 0 && is_tried(range, count)) next = count;
            }
    return next;
}

/* Replicas divide a stated global batch, which leaves few counts: each is tried, up to a limit on the work. */
static void try_for_batch(const count_range *range) {
    enum { TRIES = 256 };
    gp_divisors replicas;
    gp_divisors_of((uint64_t)gp_whole(&range->search->plan->job, GP_FIELD_GLOBAL_BATCH), &replicas);
    int64_t count = next_for_batch(range, &replicas, 0);
    for (int i = 0; i < TRIES && count <= range->most && !range->search->finished; i++) {
        gp_search_count(range->search, count);
        count = next_for_batch(range, &replicas, count);
    }
}

static void try_counts(gp_search *search) {
    const gp_job *job = &search->plan->job;
    count_range range = {.search = search, .least = gp_solve_least_count(job),
                         .per_node = known_or_one(job, GP_FIELD_PER_NODE),
                         .most = (int64_t)gp_field_info(GP_FIELD_COUNT)->max};
    if (!search->open[GP_CHOICE_COUNT]) {
        gp_search_count(search, search->plainest.values[GP_CHOICE_COUNT]);
    } else if (range.least > range.most) {
        return;
    } else if (gp_is_training(job) && gp_known(job, GP_FIELD_GLOBAL_BATCH)) {
        try_for_batch(&range);
    } else {
        try_within_node(&range);
        if (!search->finished) try_nodes(&range);
    }
}

/* Most counts are too few for the states alone. Where none fits after all, the smallest peak is asked for: nothing may be
 * passed over. */
static void try_all(gp_search *search) {
    const gp_job *job = &search->plan->job;
    const gp_search fresh = *search;
    bool detailed = gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_DETAILED);
    search->passes_over = search->open[GP_CHOICE_COUNT] && detailed && gp_is_training(job) && !gp_is_adapter(job);
    try_counts(search);
    if (search->finished || search->passed_over == UINT64_MAX) return;
    *search = fresh;
    try_counts(search);
}

/* ---- The micro-batch ---- */

/* The largest power of two that fits with the choices made, at most what a stated global batch gives one replica. */
static int64_t largest_open_batch(gp_plan *plan) {
    enum { LARGEST_OPEN_BATCH = 64 };
    gp_job *job = &plan->job;
    bool stated = gp_known(job, GP_FIELD_GLOBAL_BATCH);
    int64_t most = stated ? gp_whole(job, GP_FIELD_GLOBAL_BATCH) / plan->layout.dp : LARGEST_OPEN_BATCH;
    int64_t best = 1;
    for (int64_t batch = 2; batch <= most; batch *= 2) {
        gp_peak peak;
        gp_layout tried;
        gp_set_whole(job, GP_FIELD_MICRO_BATCH, batch, GP_SOLVED);
        if (gp_plan_try(plan, job, &plan->model, &tried, &peak) != GP_FITS) break;
        best = batch;
    }
    return best;
}

/* ZeRO 0 to 2 cost the same, so of those that are open the one that lets the batch grow most is the better one. */
static void grow_batch(gp_plan *plan, bool zero_open) {
    gp_job *job = &plan->job;
    int64_t zero = gp_whole(job, GP_FIELD_ZERO), best = largest_open_batch(plan);
    int64_t last = zero_open && plan->layout.dp * plan->layout.cp > 1 ? 2 : zero;
    for (int64_t other = zero + 1; other <= last; other++) {
        gp_set_whole(job, GP_FIELD_ZERO, other, GP_SOLVED);
        int64_t batch = largest_open_batch(plan);
        if (batch <= best) continue;
        best = batch;
        zero = other;
    }
    if (zero_open) gp_set_whole(job, GP_FIELD_ZERO, zero, GP_SOLVED);
    gp_set_whole(job, GP_FIELD_MICRO_BATCH, best, GP_SOLVED);
}

bool gp_solve_choices(gp_plan *plan) {
    gp_search search;
    gp_job *job = &plan->job;
    gp_search_start(&search, plan, GP_SEARCH_CHEAPEST);
    try_all(&search);
    gp_search_apply(&search);
    gp_diagnostics *rows = search.found ? &plan->scratch : &plan->diagnostics;
    if (!gp_layout_build(job, &plan->model, &plan->layout, rows)) return false;
    bool grows = search.batch_open && !search.batch_follows && search.best_verdict == GP_FITS;
    if (grows) grow_batch(plan, search.open[GP_CHOICE_ZERO]);
    for (int i = 0; i < GP_CHOICES; i++) {
        gp_field field = gp_search_field(job, i);
        if (search.open[i]) gp_solve_record(plan, field, (double)gp_whole(job, field), 0);
    }
    if (search.batch_open) gp_solve_record(plan, GP_FIELD_MICRO_BATCH, (double)gp_whole(job, GP_FIELD_MICRO_BATCH), 0);
    plan->verdict = search.best_verdict;
    plan->peak = search.found && !grows ? search.best_peak : (gp_peak){0};
    return true;
}
