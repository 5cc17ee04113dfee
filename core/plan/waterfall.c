#include "plan/waterfall.h"

#include "layout/cache.h"

const char *gp_fall_key(gp_fall fall) {
    static const char *const keys[GP_FALL_COUNT] = {"nominal",   "visible", "driver",          "macos", "target",    "context", "comm_buffers",
                                                    "weights",   "workspace", "graphs",        "recurrent_state", "kept_free", "pool"};
    return (unsigned)fall < GP_FALL_COUNT ? keys[fall] : "";
}

/* Items that take from the budget, by step. */
static const struct {
    gp_fall fall;
    gp_item_id item;
} takers[] = {{GP_FALL_CONTEXT, GP_ITEM_CONTEXT}, {GP_FALL_COMM, GP_ITEM_COMM_BUFFERS}, {GP_FALL_WEIGHTS, GP_ITEM_WEIGHTS},
              {GP_FALL_WORKSPACE, GP_ITEM_WORKSPACE}, {GP_FALL_GRAPHS, GP_ITEM_GRAPHS}, {GP_FALL_STATE, GP_ITEM_RECURRENT_STATE}};
enum { TAKER_COUNT = sizeof takers / sizeof takers[0] };

/* The phase with a cache in which the most is taken by other things. */
static gp_phase tightest(const gp_stage_ledger *stage) {
    gp_phase found = GP_PHASE_DECODE;
    uint64_t most = 0;
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) {
        uint64_t cache = gp_plan_item_bytes(stage, GP_ITEM_KV_CACHE, (gp_phase)phase);
        if (cache == 0 || stage->phase_bytes[phase] - cache < most) continue;
        most = stage->phase_bytes[phase] - cache;
        found = (gp_phase)phase;
    }
    return found;
}

/* Sequences that the pool holds. Where each has a state of fixed size beside its cache, the states of the job's sequences go
 * back into the pool first. */
static double sequences_of(const gp_plan *plan, const gp_stage_ledger *stage, gp_phase phase, const gp_waterfall *waterfall) {
    gp_cache cache;
    gp_cache_of_rank(&plan->model, &plan->layout, stage->share.first_layer, stage->share.layers, &cache);
    double sequences = (double)plan->layout.sequences, state = waterfall->bytes[GP_FALL_STATE] / sequences;
    double each = (double)gp_plan_item_bytes(stage, GP_ITEM_KV_CACHE, phase) / sequences;
    if (cache.recurrent_layers == 0) return waterfall->tokens / (double)plan->layout.context;
    return (waterfall->bytes[GP_FALL_POOL] + state * sequences) / (each + state);
}

bool gp_waterfall_of(const gp_plan *plan, gp_waterfall *waterfall) {
    const gp_device *device = &plan->device;
    const gp_stage_ledger *stage = &plan->stages[plan->peak.stage];
    bool textbook = gp_is_choice(&plan->job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_TEXTBOOK);
    if (!gp_device_is_measured(device) || textbook || plan->kv.bytes_per_token == 0) return false;
    *waterfall = (gp_waterfall){.stage = plan->peak.stage};
    double *bytes = waterfall->bytes;
    double free_bytes = (double)gp_device_free_bytes(device);
    bytes[GP_FALL_NOMINAL] = device->nominal_gb * 1e9;
    bytes[GP_FALL_VISIBLE] = (double)device->capacity_bytes;
    bool unified = plan->layout.recipe.unified_memory;
    bytes[unified ? GP_FALL_MACOS : GP_FALL_DRIVER] = (double)device->capacity_bytes - free_bytes;
    bytes[GP_FALL_TARGET] = free_bytes - (double)device->usable_bytes;
    gp_phase phase = tightest(stage);
    double left = (double)device->usable_bytes;
    for (int i = 0; i < TAKER_COUNT; i++) {
        bytes[takers[i].fall] = (double)gp_plan_item_bytes(stage, takers[i].item, phase);
        left -= bytes[takers[i].fall];
    }
    double cache = (double)gp_plan_item_bytes(stage, GP_ITEM_KV_CACHE, phase);
    double kept = (double)gp_plan_item_bytes(stage, GP_ITEM_FRAGMENTATION, phase);
    if (left < 0) left = 0;
    bytes[GP_FALL_KEPT_FREE] = cache + kept > 0 ? left * kept / (cache + kept) : 0;
    bytes[GP_FALL_POOL] = left - bytes[GP_FALL_KEPT_FREE];
    waterfall->tokens = (double)plan->kv.max_tokens / (double)gp_layout_caches(&plan->layout);
    waterfall->sequences = sequences_of(plan, stage, phase, waterfall);
    return true;
}
