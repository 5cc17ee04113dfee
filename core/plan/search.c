#include "plan/search.h"

#include "plan/derive.h"

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

static int64_t known_or_one(const gp_job *job, gp_field field) {
    return gp_known(job, field) && gp_whole(job, field) > 0 ? gp_whole(job, field) : 1;
}

gp_field gp_search_field(const gp_job *job, int choice) {
    static const gp_field fields[GP_CHOICES] = {GP_FIELD_COUNT, GP_FIELD_PP, GP_FIELD_TP, GP_FIELD_ZERO,
                                                GP_FIELD_RECOMPUTE};
    if (gp_is_training(job)) return fields[choice];
    if (choice == GP_CHOICE_STAGES) return GP_FIELD_INFER_PP;
    return choice == GP_CHOICE_TENSOR ? GP_FIELD_INFER_TP : fields[choice];
}

/* An engine's layout settles its own tensor parallelism, and llama.cpp's its layers besides (layout.h). */
static bool is_open(const gp_job *job, int choice) {
    bool layers = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_LLAMA_CPP) ||
                  gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_IK_LLAMA_CPP);
    bool applies = choice == GP_CHOICE_COUNT || gp_is_training(job) || (choice == GP_CHOICE_STAGES && !layers);
    return applies && gp_origin_of(job, gp_search_field(job, choice)) == GP_AUTO;
}

static bool is_batch_open(const gp_job *job) {
    return gp_is_training(job) && gp_origin_of(job, GP_FIELD_MICRO_BATCH) == GP_AUTO;
}

bool gp_search_is_open(const gp_job *job) {
    bool open = is_batch_open(job);
    for (int i = 0; i < GP_CHOICES; i++) open = open || is_open(job, i);
    return open;
}

void gp_search_start(gp_search *search, gp_plan *plan, gp_search_aim aim) {
    gp_job *job = &plan->job;
    *search = (gp_search){.plan = plan, .aim = aim, .best_verdict = GP_NO};
    search->least_peak = search->passed_over = UINT64_MAX;
    for (int i = 0; i < GP_CHOICES; i++) {
        gp_field field = gp_search_field(job, i);
        search->open[i] = is_open(job, i);
        search->plainest.values[i] = i <= GP_CHOICE_TENSOR ? known_or_one(job, field) : 0;
        if (i > GP_CHOICE_TENSOR && gp_known(job, field)) search->plainest.values[i] = gp_whole(job, field);
    }
    search->batch_open = is_batch_open(job);
    search->batch_follows =
        search->batch_open && gp_known(job, GP_FIELD_GLOBAL_BATCH) && gp_known(job, GP_FIELD_GRAD_ACCUM);
    if (search->batch_open) gp_set_whole(job, GP_FIELD_MICRO_BATCH, 1, GP_SOLVED);
}

static void apply(const gp_search *search, const gp_choice *candidate) {
    gp_job *job = &search->plan->job;
    for (int i = 0; i < GP_CHOICES; i++)
        if (search->open[i]) gp_set_whole(job, gp_search_field(job, i), candidate->values[i], GP_SOLVED);
    if (search->open[GP_CHOICE_RECOMPUTE]) {
        static const char *const names[] = {"none", "selective", "full"};
        gp_set_choice(job, GP_FIELD_RECOMPUTE, names[candidate->values[GP_CHOICE_RECOMPUTE]], GP_SOLVED);
    }
    gp_derive_framework(job);
    if (!search->batch_follows) return;
    int64_t inner = candidate->values[GP_CHOICE_TENSOR] * candidate->values[GP_CHOICE_STAGES];
    inner *= known_or_one(job, GP_FIELD_CP);
    int64_t count = candidate->values[GP_CHOICE_COUNT], replicas = count / inner > 0 ? count / inner : 1;
    int64_t batch = gp_whole(job, GP_FIELD_GLOBAL_BATCH) / replicas / known_or_one(job, GP_FIELD_GRAD_ACCUM);
    int64_t most = (int64_t)gp_field_info(GP_FIELD_MICRO_BATCH)->max;
    gp_set_whole(job, GP_FIELD_MICRO_BATCH, batch < 1 ? 1 : batch > most ? most : batch, GP_SOLVED);
}

void gp_search_apply(const gp_search *search) { apply(search, search->found ? &search->best : &search->plainest); }

/* Of frugal choices with one peak the last is kept: what costs more now saves more once something grows. */
static bool is_better(const gp_search *search, gp_verdict verdict, uint64_t peak) {
    if (!search->found) return true;
    if (search->aim == GP_SEARCH_FRUGAL) return peak <= search->best_peak.bytes;
    if (verdict != search->best_verdict) return verdict < search->best_verdict;
    return verdict == GP_NO && peak < search->best_peak.bytes;
}

static void consider(gp_search *search, const gp_choice *candidate) {
    gp_peak peak;
    gp_layout layout;
    gp_plan *plan = search->plan;
    apply(search, candidate);
    gp_verdict verdict = gp_plan_try(plan, &plan->job, &plan->model, &layout, &peak);
    if (gp_overflowed(peak.bytes)) return;
    if (peak.bytes < search->least_peak) search->least_peak = peak.bytes;
    if (is_better(search, verdict, peak.bytes)) {
        search->found = true;
        search->best = *candidate;
        search->best_verdict = verdict;
        search->best_peak = peak;
    }
    search->finished = verdict == GP_FITS && search->aim == GP_SEARCH_CHEAPEST;
}

/* True when the states alone of a candidate are more than there is. */
static bool is_hopeless(gp_search *search, const gp_choice *candidate) {
    gp_plan *plan = search->plan;
    gp_layout layout;
    apply(search, candidate);
    gp_diagnostics_clear(&plan->scratch);
    if (!gp_layout_build(&plan->job, &plan->model, &layout, &plan->scratch)) return true;
    uint64_t least = gp_ledger_least(&plan->job, &plan->model, &layout);
    if (least <= plan->device.usable_bytes) return false;
    if (least < search->passed_over) search->passed_over = least;
    return true;
}

/* Sharding over one replica and a choice that is fixed make several rows the same. What is hopeless or no valid layout with
 * ZeRO-3 is so with less of it, and recompute does not matter to that. */
static void consider_thrift(gp_search *search, gp_choice *candidate) {
    unsigned tried = 0, asked = search->open[GP_CHOICE_ZERO] ? 1u << 3 : 0, hopeless = 0;
    const gp_job *job = &search->plan->job;
    int64_t inner = candidate->values[GP_CHOICE_STAGES] * candidate->values[GP_CHOICE_TENSOR];
    bool one_replica = candidate->values[GP_CHOICE_COUNT] <= inner * known_or_one(job, GP_FIELD_CP);
    if (search->open[GP_CHOICE_ZERO]) candidate->values[GP_CHOICE_ZERO] = 3;
    if (search->passes_over && is_hopeless(search, candidate)) return;
    for (int i = 0; i < THRIFT_COUNT && !search->finished; i++) {
        if (search->open[GP_CHOICE_ZERO]) candidate->values[GP_CHOICE_ZERO] = one_replica ? 0 : thrift[i].zero;
        if (search->open[GP_CHOICE_RECOMPUTE]) candidate->values[GP_CHOICE_RECOMPUTE] = thrift[i].recompute;
        unsigned zero = 1u << candidate->values[GP_CHOICE_ZERO];
        unsigned bit = 1u << (candidate->values[GP_CHOICE_ZERO] * 4 + candidate->values[GP_CHOICE_RECOMPUTE]);
        if ((tried & bit) != 0) continue;
        tried |= bit;
        if (search->passes_over && (asked & zero) == 0 && is_hopeless(search, candidate)) hopeless |= zero;
        asked |= zero;
        if ((hopeless & zero) == 0) consider(search, candidate);
    }
}

int64_t gp_search_first(const gp_search *search, int choice) {
    return search->open[choice] ? 1 : search->plainest.values[choice];
}

int64_t gp_search_most(const gp_search *search, int choice, int64_t most) {
    double limit = gp_field_info(gp_search_field(&search->plan->job, choice))->max;
    if (!search->open[choice]) return search->plainest.values[choice];
    return (double)most < limit ? most : (int64_t)limit;
}

/* Training splits by powers of two. An engine's stages are any number that shares out the GPUs; a number without a
 * layout is passed over. */
static int64_t next_stages(const gp_search *search, int64_t stages) {
    return gp_is_training(&search->plan->job) ? stages * 2 : stages + 1;
}

void gp_search_count(gp_search *search, int64_t count) {
    gp_choice candidate = search->plainest;
    int64_t per_node = known_or_one(&search->plan->job, GP_FIELD_PER_NODE);
    int64_t most_stages = gp_search_most(search, GP_CHOICE_STAGES, count);
    int64_t most_tensor = gp_search_most(search, GP_CHOICE_TENSOR, count < per_node ? count : per_node);
    int64_t stages = gp_search_first(search, GP_CHOICE_STAGES);
    if (search->open[GP_CHOICE_STAGES] && most_stages > search->plan->model.shape.layers)
        most_stages = search->plan->model.shape.layers;
    candidate.values[GP_CHOICE_COUNT] = count;
    for (; stages <= most_stages && !search->finished; stages = next_stages(search, stages)) {
        if (search->open[GP_CHOICE_STAGES] && count % stages != 0) continue;
        candidate.values[GP_CHOICE_STAGES] = stages;
        int64_t tensor = gp_search_first(search, GP_CHOICE_TENSOR);
        for (; tensor <= most_tensor && !search->finished; tensor *= 2) {
            candidate.values[GP_CHOICE_TENSOR] = tensor;
            consider_thrift(search, &candidate);
        }
    }
}

void gp_divisors_of(uint64_t number, gp_divisors *list) {
    list->count = 0;
    for (uint64_t i = 1; i * i <= number; i++)
        if (number % i == 0) list->values[list->count++] = i;
    for (int i = list->count - 1; i >= 0; i--) {
        uint64_t partner = number / list->values[i];
        if (partner != list->values[list->count - 1]) list->values[list->count++] = partner;
    }
}
