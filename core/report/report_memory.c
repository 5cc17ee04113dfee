#include "report/report.h"

/* Over the GPUs of a copy of the model, whose peaks come one after the other: some tables print that sum. */
static uint64_t sum_of_allocated(const gp_plan *plan) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < plan->stage_count; i++)
        sum = gp_add(sum, gp_mul(gp_ledger_allocated(&plan->stages[i]), (uint64_t)plan->layout.tp));
    return sum;
}

/* What torch's counters and nvidia-smi would show of the worst GPU. */
static void write_meters(gp_writer *writer, const gp_plan *plan, const gp_stage_ledger *stage) {
    uint64_t allocated = gp_ledger_allocated(stage);
    uint64_t gaps = gp_plan_item_bytes(stage, GP_ITEM_FRAGMENTATION, stage->peak_phase);
    gp_write_open(writer, "meters", '{');
    gp_write_bytes(writer, "allocated_bytes", allocated);
    gp_write_bytes(writer, "reserved_bytes", gp_add(allocated, gaps));
    gp_write_bytes(writer, "device_bytes", stage->peak_bytes);
    bool several = !gp_is_training(&plan->job) && plan->layout.tp * plan->layout.pp > 1;
    uint64_t sum = several ? sum_of_allocated(plan) : 0;
    if (several && sum <= GP_EXACT_MAX) gp_write_bytes(writer, "sum_allocated_bytes", sum);
    gp_write_close(writer, '}');
}

static void write_phase_names(gp_writer *writer, const char *key, unsigned phases) {
    gp_write_open(writer, key, '[');
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++)
        if ((phases & GP_PHASE_BIT(phase)) != 0) gp_write_text(writer, NULL, gp_phase_key((gp_phase)phase));
    gp_write_close(writer, ']');
}

/* `bytes` of each phase that the task passes through. */
static void write_phases(gp_writer *writer, const gp_stage_ledger *stage, const uint64_t *bytes) {
    gp_write_open(writer, "phases", '{');
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) {
        if ((stage->phases & GP_PHASE_BIT(phase)) == 0) continue;
        gp_write_open(writer, gp_phase_key((gp_phase)phase), '{');
        gp_write_bytes(writer, "peak_bytes", bytes[phase]);
        gp_write_close(writer, '}');
    }
    gp_write_close(writer, '}');
}

void gp_report_explanation(gp_writer *writer, const gp_amount *amount, gp_detail detail) {
    gp_write_text(writer, "formula_id", amount->formula->id);
    if (gp_tells_texts(detail)) gp_write_text(writer, "formula", amount->formula->expression);
    gp_write_open(writer, "terms", '{');
    for (int i = 0; i < amount->term_count; i++)
        gp_write_number(writer, amount->terms[i].symbol, amount->terms[i].value);
    gp_write_close(writer, '}');
    if (gp_tells_texts(detail)) gp_write_text(writer, "source", amount->formula->source);
}

static void write_item(gp_writer *writer, const gp_allocation *row, gp_detail detail) {
    bool brief = detail == GP_DETAIL_BRIEF;
    uint64_t bytes = row->amount.bytes;
    gp_write_open(writer, NULL, '{');
    gp_write_text(writer, "id", gp_item_key(row->id));
    gp_write_bytes(writer, "bytes", bytes);
    if (!brief) {
        uint64_t half_width = gp_bytes_from_double(row->spread * (double)bytes);
        gp_write_bytes(writer, "low_bytes", gp_sub_or_zero(bytes, half_width));
        gp_write_bytes(writer, "high_bytes", gp_add(bytes, half_width));
    }
    write_phase_names(writer, "phases", row->phases);
    if (!brief && row->amount.formula != NULL) gp_report_explanation(writer, &row->amount, detail);
    gp_write_close(writer, '}');
}

static void write_items(gp_writer *writer, const gp_stage_ledger *stage, gp_detail detail) {
    gp_write_open(writer, "items", '[');
    for (int id = 0; id < GP_ITEM_COUNT; id++)
        for (int i = 0; i < stage->count; i++) {
            const gp_allocation *row = &stage->allocations[i];
            if ((int)row->id == id && row->amount.bytes > 0) write_item(writer, row, detail);
        }
    gp_write_close(writer, ']');
}

static bool is_same_amount(const gp_amount *a, const gp_amount *b) {
    if (a->bytes != b->bytes || a->formula != b->formula || a->term_count != b->term_count) return false;
    for (int i = 0; i < a->term_count; i++)
        if (a->terms[i].value < b->terms[i].value || a->terms[i].value > b->terms[i].value) return false;
    return true;
}

static bool is_same_stage(const gp_stage_ledger *a, const gp_stage_ledger *b) {
    if (a->count != b->count || a->peak_phase != b->peak_phase || a->host_bytes != b->host_bytes) return false;
    for (int i = 0; i < a->count; i++) {
        const gp_allocation *x = &a->allocations[i], *y = &b->allocations[i];
        if (x->id != y->id || x->phases != y->phases || !is_same_amount(&x->amount, &y->amount)) return false;
    }
    return true;
}

static void write_stage(gp_writer *writer, const gp_stage_ledger *stage, int64_t stages, gp_detail detail) {
    gp_write_open(writer, NULL, '{');
    gp_write_whole(writer, "stage", stage->share.index);
    gp_write_whole(writer, "stages", stages);
    gp_write_whole(writer, "layers", stage->share.layers);
    gp_write_whole(writer, "gpus", stage->share.gpus * stages);
    gp_write_whole(writer, "first_gpu", stage->share.index * stage->share.gpus);
    gp_write_text(writer, "peak_phase", gp_phase_key(stage->peak_phase));
    gp_write_bytes(writer, "peak_bytes", stage->peak_bytes);
    gp_write_bytes(writer, "low_bytes", stage->low_bytes);
    gp_write_bytes(writer, "high_bytes", stage->high_bytes);
    if (detail != GP_DETAIL_BRIEF) write_phases(writer, stage, stage->phase_bytes);
    write_items(writer, stage, detail);
    gp_write_close(writer, '}');
}

static void write_stages(gp_writer *writer, const gp_plan *plan, gp_detail detail) {
    gp_write_open(writer, "stages", '[');
    int64_t first = 0;
    while (first < plan->stage_count) {
        int64_t next = first + 1;
        while (next < plan->stage_count && is_same_stage(&plan->stages[first], &plan->stages[next])) next++;
        write_stage(writer, &plan->stages[first], next - first, detail);
        first = next;
    }
    gp_write_close(writer, ']');
}

/* Weights of one copy of the model: on all of its devices together, and in host memory. */
static void write_weights(gp_writer *writer, const gp_plan *plan) {
    uint64_t device = 0, host = 0, copies = (uint64_t)plan->layout.dp;
    for (int64_t i = 0; i < plan->stage_count; i++) {
        const gp_stage_ledger *stage = &plan->stages[i];
        uint64_t gpus = (uint64_t)stage->share.gpus / copies;
        device = gp_add(device, gp_mul(gp_plan_item_bytes(stage, GP_ITEM_WEIGHTS, GP_PHASE_LOAD), gpus));
        host = gp_add(host, gp_mul(stage->host_bytes, gpus));
    }
    gp_write_open(writer, "weights", '{');
    gp_write_known(writer, "device_bytes", (double)device);
    gp_write_known(writer, "host_bytes", (double)host);
    gp_write_close(writer, '}');
}

/* Which operators keep what, where the step is replayed. */
static void write_saved(gp_writer *writer, const gp_stage_ledger *stage) {
    uint64_t all = 0;
    for (int op = 0; op <= GP_OP_COUNT; op++) all = gp_add(all, stage->saved_by[op]);
    if (all == 0) return;
    gp_write_open(writer, "saved", '[');
    for (int op = 0; op <= GP_OP_COUNT; op++) {
        if (stage->saved_by[op] == 0) continue;
        gp_write_open(writer, NULL, '{');
        gp_write_text(writer, "operator", gp_op_key(op));
        gp_write_bytes(writer, "bytes", stage->saved_by[op]);
        gp_write_close(writer, '}');
    }
    gp_write_close(writer, ']');
}

/* Of the worst GPU, as torch counts. A forward pass ends with the loss. */
static void write_allocated(gp_writer *writer, const gp_stage_ledger *stage) {
    uint64_t bytes[GP_PHASE_COUNT];
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) bytes[phase] = stage->phase_allocated[phase];
    if (bytes[GP_PHASE_LOSS] > bytes[GP_PHASE_FORWARD]) bytes[GP_PHASE_FORWARD] = bytes[GP_PHASE_LOSS];
    write_phases(writer, stage, bytes);
}

void gp_report_memory(gp_writer *writer, const gp_plan *plan, gp_detail detail) {
    const gp_stage_ledger *worst = &plan->stages[plan->peak.stage];
    gp_write_open(writer, "memory", '{');
    gp_write_bytes(writer, "peak_bytes", plan->peak.bytes);
    gp_write_bytes(writer, "low_bytes", plan->peak.low_bytes);
    gp_write_bytes(writer, "high_bytes", plan->peak.high_bytes);
    gp_write_known(writer, "capacity_bytes", (double)plan->device.capacity_bytes);
    if (gp_device_is_measured(&plan->device)) gp_write_bytes(writer, "usable_bytes", plan->device.usable_bytes);
    write_meters(writer, plan, worst);
    gp_write_known(writer, "host_bytes", (double)gp_plan_host_bytes(plan));
    if (!gp_is_training(&plan->job)) write_weights(writer, plan);
    if (gp_is_training(&plan->job)) gp_write_bytes(writer, "saved_bytes", worst->saved_bytes);
    if (detail != GP_DETAIL_BRIEF) write_saved(writer, worst);
    write_allocated(writer, worst);
    write_stages(writer, plan, detail);
    gp_write_close(writer, '}');
}
