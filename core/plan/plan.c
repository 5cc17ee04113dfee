#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/balance.h"
#include "plan/derive.h"

const char *gp_verdict_name(gp_verdict verdict) {
    static const char *const keys[] = {"fits", "tight", "no"};
    return keys[verdict];
}

const char *gp_verdict_key(const gp_plan *plan, gp_verdict verdict) {
    return gp_device_is_measured(&plan->device) ? gp_verdict_name(verdict) : "unknown";
}

/* Two fields of one task that grow at each other's expense have no maximum together. */
static void check_maxima(const gp_job *job, gp_diagnostics *diagnostics) {
    const char *first = job->model.params_max ? "model.params" : NULL;
    int tasks = GP_TASKS_ALL;
    for (int field = 0; field < GP_FIELD_TOTAL; field++) {
        const gp_field_row *row = gp_field_info((gp_field)field);
        if (job->settings[field].origin != GP_MAX || (row->tasks & tasks) == 0) continue;
        if (first == NULL) {
            first = row->path;
            tasks = row->tasks;
        } else {
            gp_argue_text(gp_diagnose(diagnostics, GP_CODE_SEVERAL_MAXIMA, row->path), "other", first);
        }
    }
}

/* A maximum or an open field of another task has no meaning, and nothing would ever fill it. */
static void close_other_tasks(gp_job *job) {
    int bit = 1 << gp_task_of(job);
    if (gp_origin_of(job, GP_FIELD_TASK) != GP_GIVEN) return;
    for (int field = 0; field < GP_FIELD_TOTAL; field++) {
        gp_setting *setting = &job->settings[field];
        bool open = setting->origin == GP_MAX || setting->origin == GP_AUTO;
        if (open && (gp_field_info((gp_field)field)->tasks & bit) == 0) setting->origin = GP_ABSENT;
    }
}

/* What is largest or fewest depends on how much there is. */
static void check_measure(gp_plan *plan) {
    const gp_job *job = &plan->job;
    bool asks = job->model.params_max || gp_origin_of(job, GP_FIELD_COUNT) == GP_AUTO;
    for (int field = 0; field < GP_FIELD_TOTAL; field++) asks = asks || job->settings[field].origin == GP_MAX;
    if (!asks || gp_device_is_measured(&plan->device)) return;
    if (plan->device.is_host)
        gp_argue_text(gp_diagnose(&plan->diagnostics, GP_CODE_UNKNOWN_MEMORY, "hardware.host_ram_gib"), "value",
                      plan->device.name);
    else
        gp_diagnose(&plan->diagnostics, GP_CODE_MISSING, "hardware.gpu");
}

static void reset(gp_plan *plan) {
    plan->stages = NULL;
    plan->stage_count = 0;
    plan->peak = (gp_peak){0};
    plan->verdict = GP_NO;
    plan->binding_item = GP_ITEM_WEIGHTS;
    plan->binding_bytes = 0;
    plan->solution_count = 0;
    plan->knob_count = 0;
    plan->kv = (gp_kv_figures){0};
    plan->time = (gp_time_figures){0};
    plan->serving = (gp_serving){.sequences = 0};
    plan->curve = (gp_serving_curve){.count = 0};
    gp_diagnostics_clear(&plan->scratch);
}

/* Every layout that is tried asks for it. A host has no row, however it is called. */
static void resolve_gpu(gp_plan *plan) {
    if (plan->device.is_host) return;
    plan->job.gpu.resolved = true;
    plan->job.gpu.row = plan->device.row;
}

bool gp_plan_begin(const gp_job *request, gp_plan *plan) {
    reset(plan);
    plan->request = request;
    plan->job = *request;
    close_other_tasks(&plan->job);
    gp_diagnostics *diagnostics = &plan->diagnostics;
    plan->device = (gp_device){0};
    bool faulty = gp_is_faulty(diagnostics, "hardware.gpu");
    if (faulty) gp_device_check_like(&plan->job, diagnostics);
    bool found = !faulty && gp_device_find(&plan->job, &plan->device, diagnostics);
    if (found) {
        check_measure(plan);
        resolve_gpu(plan);
    }
    gp_derive_job(&plan->job, &plan->device, diagnostics);
    check_maxima(&plan->job, diagnostics);
    /* A size that the solver will find has no remarks of its own yet. */
    gp_diagnostics *remarks = plan->job.model.params_max ? &plan->scratch : diagnostics;
    bool built = !gp_is_faulty(diagnostics, "model") && gp_model_build(&plan->job, &plan->model, remarks);
    if (!built && remarks != diagnostics && !gp_is_faulty(diagnostics, "model"))
        gp_model_build(&plan->job, &plan->model, diagnostics);
    gp_device_limit(&plan->job, built ? &plan->model : NULL, &plan->device);
    if (!gp_has_errors(diagnostics)) return true;
    gp_layout_check(&plan->job, built ? &plan->model : NULL, diagnostics);
    return false;
}

static void take_stage(gp_peak *peak, const gp_stage_ledger *stage, int64_t index) {
    if (stage->peak_bytes > peak->bytes) {
        peak->bytes = stage->peak_bytes;
        peak->stage = index;
    }
    if (stage->low_bytes > peak->low_bytes) peak->low_bytes = stage->low_bytes;
    if (stage->high_bytes > peak->high_bytes) peak->high_bytes = stage->high_bytes;
}

/* Training equal layers, only the ends are asked: a stage between them holds no more layers and no more micro-batches than
 * the first, which has the embedding besides. Not where the ends count as layers, and not when serving: there a host may
 * keep the embedding or the first layers' experts, and files give more bits to some layers. */
gp_peak gp_plan_peak(const gp_job *job, const gp_model *model, const gp_layout *layout) {
    gp_peak peak = {0};
    gp_stage_ledger ledger;
    bool even = layout->split_stages == 0 && !gp_layout_counts_ends(model, layout);
    bool alike = even && model->kind_count == 1 && gp_is_training(job);
    int64_t step = alike && layout->pp > 1 ? layout->pp - 1 : 1;
    for (int64_t stage = 0; stage < layout->pp; stage += step) {
        gp_ledger_stage(job, model, layout, stage, &ledger);
        take_stage(&peak, &ledger, stage);
    }
    return peak;
}

gp_verdict gp_plan_verdict(const gp_peak *peak, const gp_device *device) {
    if (peak->bytes > device->usable_bytes) return GP_NO;
    return peak->high_bytes > device->usable_bytes ? GP_TIGHT : GP_FITS;
}

gp_verdict gp_plan_try(gp_plan *plan, const gp_job *job, const gp_model *model, gp_layout *layout, gp_peak *peak) {
    gp_diagnostics_clear(&plan->scratch);
    *peak = (gp_peak){.bytes = UINT64_MAX, .high_bytes = UINT64_MAX};
    if (!gp_layout_build(job, model, layout, &plan->scratch)) return GP_NO;
    gp_balance_stages(job, model, layout, false);
    *peak = gp_plan_peak(job, model, layout);
    return gp_plan_verdict(peak, &plan->device);
}

uint64_t gp_plan_most_bytes(const gp_stage_ledger *stage, unsigned items) {
    uint64_t most = 0;
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) {
        uint64_t bytes = 0;
        for (int i = 0; i < stage->count; i++) {
            const gp_allocation *row = &stage->allocations[i];
            bool counts = (items >> row->id & 1) != 0 && (row->phases & GP_PHASE_BIT(phase)) != 0;
            if (counts) bytes = gp_add(bytes, row->amount.bytes);
        }
        if (bytes > most) most = bytes;
    }
    return most;
}

uint64_t gp_plan_host_bytes(const gp_plan *plan) {
    const gp_layout *layout = &plan->layout;
    uint64_t most = 0, sum = 0;
    for (int64_t i = 0; i < plan->stage_count; i++) {
        uint64_t bytes = gp_add(plan->stages[i].host_bytes, plan->stages[i].host_cache_bytes);
        if (bytes > most) most = bytes;
        sum = gp_add(sum, gp_mul(bytes, (uint64_t)plan->stages[i].share.gpus));
    }
    return layout->gpus <= layout->per_node ? sum : gp_mul(most, (uint64_t)layout->per_node);
}

uint64_t gp_plan_item_bytes(const gp_stage_ledger *stage, gp_item_id id, gp_phase phase) {
    uint64_t bytes = 0;
    for (int i = 0; i < stage->count; i++) {
        const gp_allocation *row = &stage->allocations[i];
        if (row->id == id && (row->phases & GP_PHASE_BIT(phase)) != 0) bytes = gp_add(bytes, row->amount.bytes);
    }
    return bytes;
}

/* Items that are there whatever the job is. */
static bool is_fixed(gp_item_id id) {
    return id == GP_ITEM_CONTEXT || id == GP_ITEM_COMM_BUFFERS || id == GP_ITEM_GRAPHS || id == GP_ITEM_FRAGMENTATION;
}

static void find_binding(gp_plan *plan) {
    const gp_stage_ledger *stage = &plan->stages[plan->peak.stage];
    for (int id = 0; id < GP_ITEM_COUNT; id++) {
        uint64_t bytes = gp_plan_item_bytes(stage, (gp_item_id)id, stage->peak_phase);
        if (is_fixed((gp_item_id)id) || bytes <= plan->binding_bytes) continue;
        plan->binding_item = (gp_item_id)id;
        plan->binding_bytes = bytes;
    }
}

static bool is_exact(const gp_plan *plan) {
    if (plan->peak.high_bytes > GP_EXACT_MAX || plan->model.total_params > GP_EXACT_MAX) return false;
    for (int64_t i = 0; i < plan->stage_count; i++) {
        const gp_stage_ledger *stage = &plan->stages[i];
        uint64_t host = gp_add(stage->host_bytes, stage->host_cache_bytes);
        if (gp_mul(host, (uint64_t)plan->layout.per_node) > GP_EXACT_MAX) return false;
        if (stage->saved_bytes > GP_EXACT_MAX) return false;
        for (int row = 0; row < stage->count; row++)
            if (stage->allocations[row].amount.bytes > GP_EXACT_MAX) return false;
    }
    return true;
}

/* True where the model's state alone, of weights, gradients, and optimizer, is beyond what is counted exactly. */
static bool is_model_too_large(const gp_plan *plan) {
    uint64_t state = 0;
    for (int64_t i = 0; i < plan->stage_count; i++) {
        const gp_stage_ledger *stage = &plan->stages[i];
        for (int row = 0; row < stage->count; row++)
            if (stage->allocations[row].id <= GP_ITEM_OPTIMIZER) state = gp_add(state, stage->allocations[row].amount.bytes);
    }
    return state > GP_EXACT_MAX;
}

bool gp_plan_measure(gp_plan *plan) {
    plan->stage_count = plan->layout.pp;
    plan->peak = (gp_peak){0};
    plan->stages = malloc((size_t)plan->stage_count * sizeof *plan->stages); /* each ledger is cleared as it is made */
    if (plan->stages == NULL) {
        gp_diagnose(&plan->diagnostics, GP_CODE_OUT_OF_MEMORY, "");
        return false;
    }
    int64_t stage = 0;
    do { /* a layout has at least one */
        gp_ledger_stage(&plan->job, &plan->model, &plan->layout, stage, &plan->stages[stage]);
        take_stage(&plan->peak, &plan->stages[stage], stage);
    } while (++stage < plan->stage_count);
    plan->verdict = gp_plan_verdict(&plan->peak, &plan->device);
    find_binding(plan);
    if (is_exact(plan)) return true;
    gp_diagnose(&plan->diagnostics, GP_CODE_NUMBER_TOO_LARGE, is_model_too_large(plan) ? "model" : "");
    return false;
}

void gp_plan_explain(gp_plan *plan) {
    gp_diagnostics *rows = &plan->diagnostics;
    if (gp_has_errors(rows)) return;
    if (rows->count == GP_DIAGNOSTICS_MAX) rows->count--;
    for (int i = 0; i < plan->scratch.count && rows->count < GP_DIAGNOSTICS_MAX; i++)
        if (gp_code_severity(plan->scratch.rows[i].code) == GP_SEVERITY_ERROR)
            rows->rows[rows->count++] = plan->scratch.rows[i];
    if (!gp_has_errors(rows)) gp_diagnose(rows, GP_CODE_UNSOLVED, "");
}

void gp_plan_release(gp_plan *plan) {
    free(plan->stages);
    plan->stages = NULL;
}
