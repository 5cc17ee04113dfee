#include "ledger/ledger.h"

#include <math.h>

#include "layout/cache.h"
#include "formats/format.h"

const char *gp_item_key(gp_item_id id) {
    static const char *const keys[GP_ITEM_COUNT] = {
        "weights",      "gradients",    "master_weights", "optimizer", "adapter",         "activations",
        "logits",       "gather_buffers", "comm_buffers", "optimizer_temp", "kv_cache",   "recurrent_state",
        "workspace",    "graphs",       "context",        "fragmentation",
    };
    return (unsigned)id < GP_ITEM_COUNT ? keys[id] : "";
}

const char *gp_phase_key(gp_phase phase) {
    static const char *const keys[GP_PHASE_COUNT] = {"load",   "forward",   "loss",    "backward",
                                                     "reduce", "optimizer", "prefill", "decode"};
    return (unsigned)phase < GP_PHASE_COUNT ? keys[phase] : "";
}

uint64_t gp_kv_bytes_per_token(const gp_job *job, const gp_model *model) {
    gp_recipe recipe;
    gp_recipe_build(job, model, &recipe);
    gp_cache cache;
    gp_cache_of(model, 1, 0, model->shape.layers, &cache);
    return gp_bytes_from_double(gp_cache_token_bytes(&cache, recipe.kv_bits));
}

/* What torch's counters of allocated memory do not see. */
static bool outside_allocator(gp_item_id id) {
    return id == GP_ITEM_CONTEXT || id == GP_ITEM_COMM_BUFFERS || id == GP_ITEM_FRAGMENTATION;
}

gp_allocation *gp_ledger_append(gp_stage_ledger *ledger, gp_item_id id, unsigned phases, gp_amount amount,
                                double spread) {
    int slot = ledger->count < GP_ALLOCATIONS_MAX ? ledger->count++ : GP_ALLOCATIONS_MAX - 1;
    gp_allocation *row = &ledger->allocations[slot];
    *row = (gp_allocation){.id = id, .phases = phases, .amount = amount, .spread = spread};
    bool allocated = !outside_allocator(id);
    for (int phase = 0; phases >> phase != 0; phase++) {
        if ((phases >> phase & 1) == 0) continue;
        ledger->phase_bytes[phase] = gp_add(ledger->phase_bytes[phase], amount.bytes);
        if (allocated) ledger->phase_allocated[phase] = gp_add(ledger->phase_allocated[phase], amount.bytes);
    }
    return row;
}

static void find_peak(gp_stage_ledger *ledger) {
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) {
        if (ledger->phase_bytes[phase] <= ledger->peak_bytes) continue;
        ledger->peak_bytes = ledger->phase_bytes[phase];
        ledger->peak_phase = (gp_phase)phase;
    }
}

uint64_t gp_ledger_allocated(const gp_stage_ledger *ledger) {
    uint64_t peak = 0;
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++)
        if (ledger->phase_allocated[phase] > peak) peak = ledger->phase_allocated[phase];
    return peak;
}

static uint64_t half_width(double squares, double whole) { return gp_bytes_from_double(sqrt(squares + whole * whole)); }

/* The items' errors, and that of the whole, are taken as independent, so their half-widths add as squares. Which phase is
 * the fullest is not certain either: one that is nearly so, and less certain, may reach further up. */
static void widen(gp_stage_ledger *ledger, int phase) {
    double squares = 0;
    for (int i = 0; i < ledger->count; i++) {
        const gp_allocation *row = &ledger->allocations[i];
        if ((row->phases & GP_PHASE_BIT(phase)) == 0) continue;
        double half = row->spread * (double)row->amount.bytes;
        squares += half * half;
    }
    uint64_t bytes = ledger->phase_bytes[phase];
    double more = phase == GP_PHASE_PREFILL ? ledger->more_in_prefill : 0;
    uint64_t low = gp_sub_or_zero(bytes, half_width(squares, ledger->below * (double)bytes));
    uint64_t high = gp_add(bytes, half_width(squares, ledger->above * (double)bytes + more));
    if (low > ledger->low_bytes) ledger->low_bytes = low;
    if (high > ledger->high_bytes) ledger->high_bytes = high;
}

static void set_range(gp_stage_ledger *ledger) {
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) widen(ledger, phase);
}

/* The course keeps 15 % of the card free: what it needs is its own sum over 0.85. */
static void set_textbook_range(gp_stage_ledger *ledger) {
    ledger->low_bytes = ledger->peak_bytes;
    ledger->high_bytes = gp_overflowed(ledger->peak_bytes) ? ledger->peak_bytes
                                                           : gp_bytes_from_double((double)ledger->peak_bytes / 0.85);
}

static void clear(gp_stage_ledger *ledger) {
    ledger->count = 0;
    ledger->phases = 0;
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) ledger->phase_bytes[phase] = ledger->phase_allocated[phase] = 0;
    ledger->below = ledger->above = ledger->more_in_prefill = 0;
    ledger->peak_phase = GP_PHASE_LOAD;
    ledger->peak_bytes = ledger->low_bytes = ledger->high_bytes = 0;
    ledger->host_bytes = ledger->host_cache_bytes = ledger->saved_bytes = 0;
    for (int op = 0; op <= GP_OP_COUNT; op++) ledger->saved_by[op] = 0;
}

void gp_ledger_stage(const gp_job *job, const gp_model *model, const gp_layout *layout, int64_t stage,
                     gp_stage_ledger *ledger) {
    clear(ledger);
    gp_layout_stage(job, model, layout, stage, &ledger->share);
    bool textbook = gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_TEXTBOOK);
    if (textbook)
        gp_ledger_textbook(job, model, layout, ledger);
    else if (gp_is_training(job))
        gp_ledger_training(job, model, layout, ledger);
    else
        gp_ledger_inference(job, model, layout, ledger);
    find_peak(ledger);
    if (textbook)
        set_textbook_range(ledger);
    else
        set_range(ledger);
}

uint64_t gp_ledger_least(const gp_job *job, const gp_model *model, const gp_layout *layout) {
    if (layout->balances) return 0;
    gp_stage_ledger ledger;
    clear(&ledger);
    gp_layout_stage(job, model, layout, 0, &ledger.share);
    gp_ledger_states(job, model, layout, &ledger);
    find_peak(&ledger);
    return ledger.peak_bytes;
}
