#include "plan/figures.h"

#include "layout/cache.h"

/* Cached bytes of one token in a stage's layers: on average over the tokens, on one rank; or in all. */
static double token_bytes(const gp_plan *plan, const gp_stage_share *share, bool one_rank) {
    gp_cache cache;
    int64_t first = gp_first_layer(&plan->model, &plan->layout, share->index);
    if (one_rank)
        gp_cache_of_rank(&plan->model, &plan->layout, first, share->layers, &cache);
    else
        gp_cache_of(&plan->model, 1, first, share->layers, &cache);
    return gp_cache_token_bytes(&cache, plan->layout.recipe.kv_bits);
}

static bool has_windows(const gp_plan *plan) {
    for (int i = 0; i < plan->model.kind_count; i++)
        if (plan->model.kinds[i].window > 0) return true;
    return false;
}

/* Cache of one token on one GPU of a stage; where layers forget, that of an average token of the job's sequences. */
static double token_share(const gp_plan *plan, const gp_stage_ledger *stage) {
    double all = token_bytes(plan, &stage->share, true), host = (double)stage->host_cache_bytes;
    double device = (double)gp_plan_item_bytes(stage, GP_ITEM_KV_CACHE, GP_PHASE_DECODE);
    if (!has_windows(plan)) return host > 0 ? all * device / (device + host) : all;
    double tokens = (double)plan->layout.sequences * (double)plan->layout.context;
    return (double)gp_plan_item_bytes(stage, GP_ITEM_KV_CACHE, GP_PHASE_DECODE) / tokens;
}

/* Cache of the job's sequences: each stage's cache without the copies of KV heads that tensor parallelism makes, for as
 * many sequences as there are over all replicas, some of which may have one less than the others or none. */
uint64_t gp_figures_cache(const gp_plan *plan) {
    double bytes = 0;
    for (int64_t i = 0; i < plan->stage_count; i++) {
        const gp_stage_ledger *stage = &plan->stages[i];
        double one = token_bytes(plan, &stage->share, true);
        double ranks = one > 0 ? token_bytes(plan, &stage->share, false) / one : 0;
        double held = (double)gp_plan_item_bytes(stage, GP_ITEM_KV_CACHE, GP_PHASE_DECODE) + (double)stage->host_cache_bytes;
        bytes += held * ranks;
    }
    double sequences = (double)gp_whole(&plan->job, GP_FIELD_CONCURRENCY);
    return gp_bytes_from_double(bytes * sequences / (double)plan->layout.sequences);
}

/* Left for the cache on a GPU of a stage: of the phases in which the cache is alive, the one with the least room; less
 * what an engine keeps free beside it. */
static double room_for_cache(const gp_stage_ledger *stage, double budget) {
    double room = budget;
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) {
        uint64_t cache = gp_plan_item_bytes(stage, GP_ITEM_KV_CACHE, (gp_phase)phase);
        if (cache == 0) continue;
        double kept = (double)gp_plan_item_bytes(stage, GP_ITEM_FRAGMENTATION, (gp_phase)phase);
        double with_kept = (double)cache + kept;
        double left = (budget - ((double)stage->phase_bytes[phase] - with_kept)) * (double)cache / with_kept;
        if (left < room) room = left;
    }
    return room > 0 ? room : 0;
}

static void fill_pool(gp_plan *plan) {
    double budget = (double)plan->device.usable_bytes, pool = 0, tokens = (double)GP_EXACT_MAX;
    for (int64_t i = 0; i < plan->stage_count; i++) {
        const gp_stage_ledger *stage = &plan->stages[i];
        double left = room_for_cache(stage, budget);
        pool += left * (double)stage->share.gpus;
        double share = token_share(plan, stage);
        double held = share > 0 ? left / share : tokens;
        if (held < tokens) tokens = held;
    }
    plan->kv.pool_bytes = (uint64_t)(pool < (double)GP_EXACT_MAX ? pool : (double)GP_EXACT_MAX);
    tokens = (double)(uint64_t)tokens * (double)gp_layout_caches(&plan->layout);
    plan->kv.max_tokens = (uint64_t)(tokens < (double)GP_EXACT_MAX ? tokens : (double)GP_EXACT_MAX);
}

static uint64_t solved_or_largest(gp_plan *plan, gp_field field) {
    for (int i = 0; i < plan->solution_count; i++)
        if (plan->solutions[i].field == field && plan->solutions[i].fails_at > 0)
            return (double)plan->solutions[i].fails_at > 1 ? (uint64_t)plan->solutions[i].value : 0;
    uint64_t fails_at = 0;
    return gp_solve_largest(plan, field, 1, &fails_at);
}

void gp_figures_kv(gp_plan *plan) {
    plan->kv.bytes_per_token = gp_kv_bytes_per_token(&plan->job, &plan->model);
    bool caches = plan->kv.bytes_per_token > 0;
    if (caches) plan->kv.bytes = gp_figures_cache(plan);
    if (!gp_device_is_measured(&plan->device)) return;
    if (caches) fill_pool(plan);
    plan->kv.max_context = solved_or_largest(plan, GP_FIELD_CONTEXT);
    plan->kv.max_concurrency = solved_or_largest(plan, GP_FIELD_CONCURRENCY);
}

/* Training computes 6 FLOP per parameter and token: 2 forward, 4 backward (Kaplan et al. 2020, arXiv:2001.08361,
 * section 2.1). The GPUs of the job share a global batch's tokens and parameters between them. */
static void fill_step(gp_plan *plan) {
    const gp_layout *layout = &plan->layout;
    double params = plan->model.stated_params > 0 ? plan->model.stated_params : (double)plan->model.total_params;
    double flops = gp_real(&plan->job, GP_FIELD_TEXTBOOK_FLOPS);
    double tokens = (double)layout->global_batch * (double)layout->seq_len;
    double gpus = (double)layout->gpus;
    plan->time.step_s = 6 * params * (tokens / gpus) / flops;
    plan->time.tokens_per_s = tokens / plan->time.step_s;
    plan->time.tokens_per_s_per_gpu = plan->time.tokens_per_s / gpus;
}

/* Of a pipeline's time, (P - 1) of (M + P - 1) slots are idle (Huang et al. 2019, arXiv:1811.06965, section 2.3);
 * v chunks per GPU count as v times the micro-batches (Narayanan et al. 2021, arXiv:2104.04473, section 2.2). A slot is
 * a forward and a backward pass, of which the gradients of weights are a third: a schedule that puts these into the gaps
 * leaves a third of them, P - 1 (ZB-H1: Qi et al. 2024, arXiv:2401.10241, section 2.2) or P - 2 (DualPipe: DeepSeek-AI
 * 2024, arXiv:2412.19437, table 2), or none. */
static double bubble_of(const gp_job *job, const gp_layout *layout) {
    double stages = (double)layout->pp, batches = (double)layout->grad_accum * (double)layout->vpp;
    bool fills = gp_is_choice(job, GP_FIELD_SCHEDULE, GP_CHOICE_SCHEDULE_ZB_H1);
    double idle = layout->turned ? 0 : layout->both_ways ? (stages - 2) / 3 : fills ? (stages - 1) / 3 : stages - 1;
    return idle / (batches + idle);
}

/* Tokens of the cache that take as much as the state of one sequence, on the stage where that is most; 0 without states. */
static double state_tokens(const gp_plan *plan) {
    double most = 0;
    for (int64_t i = 0; i < plan->stage_count; i++) {
        const gp_stage_ledger *stage = &plan->stages[i];
        gp_cache cache;
        gp_cache_of_rank(&plan->model, &plan->layout, stage->share.first_layer, stage->share.layers, &cache);
        double token = token_share(plan, stage), state = (double)gp_plan_item_bytes(stage, GP_ITEM_RECURRENT_STATE, GP_PHASE_DECODE);
        double tokens = cache.recurrent_layers > 0 && token > 0 ? state / (double)plan->layout.sequences / token : 0;
        if (tokens > most) most = tokens;
    }
    return most;
}

static gp_serving_room room_of(const gp_plan *plan) {
    double state = state_tokens(plan), sequences = (double)(plan->layout.sequences * gp_layout_caches(&plan->layout));
    double tokens = (double)plan->kv.max_tokens;
    return (gp_serving_room){tokens > 0 ? tokens + state * sequences : 0, (double)plan->kv.max_concurrency, state};
}

void gp_figures_time(gp_plan *plan) {
    const gp_job *job = &plan->job;
    bool textbook = gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_TEXTBOOK);
    if (!gp_is_training(job)) {
        const gp_serving_room room = room_of(plan);
        if (!textbook)
            gp_timing_serving(job, &plan->model, &plan->layout, &plan->device, &room, &plan->serving, &plan->curve);
        return;
    }
    if (textbook && gp_known(job, GP_FIELD_TEXTBOOK_FLOPS)) fill_step(plan);
    if (plan->layout.pp > 1) plan->time.bubble = bubble_of(job, &plan->layout);
    if (gp_known(job, GP_FIELD_TEXTBOOK_SPEEDUP))
        plan->time.efficiency = gp_real(job, GP_FIELD_TEXTBOOK_SPEEDUP) / (double)plan->layout.gpus;
}
