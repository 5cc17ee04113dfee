#include "solve.h"

#include "derive.h"

void gp_solve_record(gp_plan *plan, gp_field field, double value, double fails_at) {
    if (plan->solution_count == GP_SOLUTIONS_MAX) return;
    plan->solutions[plan->solution_count++] = (gp_solution){field, value, fails_at};
}

gp_verdict gp_solve_try(gp_plan *plan, const gp_job *job, const gp_model *model, gp_layout *layout, gp_peak *peak) {
    gp_diagnostics_clear(&plan->scratch);
    *peak = (gp_peak){.bytes = UINT64_MAX, .high_bytes = UINT64_MAX};
    if (!gp_layout_build(job, model, layout, &plan->scratch)) return GP_NO;
    *peak = gp_plan_peak(job, model, layout);
    return gp_plan_verdict(peak, &plan->device);
}

/* Value that a maximised field has while the choices are made. */
static int64_t least_value(const gp_job *job, gp_field field) {
    if (field == GP_FIELD_SEQ_LEN) return 2048;
    if (field != GP_FIELD_CONTEXT) return 1;
    int64_t tokens = gp_whole(job, GP_FIELD_PROMPT) + gp_whole(job, GP_FIELD_OUTPUT);
    return tokens > 0 ? tokens : 1;
}

static gp_field maximised_field(const gp_job *job) {
    int field = 0;
    while (field < GP_FIELD_TOTAL && job->settings[field].origin != GP_MAX) field++;
    return (gp_field)field;
}

/* The choices for the least value of the maximised field. A sequence length gives way to 1 where 2,048 tokens do not
 * fit with any choice. */
static bool choose_at_least_value(gp_plan *plan, gp_field maximised) {
    if (maximised == GP_FIELD_TOTAL) return gp_solve_choices(plan);
    gp_job open = plan->job;
    gp_set_whole(&plan->job, maximised, least_value(&plan->job, maximised), GP_SOLVED);
    if (!gp_solve_choices(plan)) return false;
    if (maximised == GP_FIELD_SEQ_LEN && plan->verdict == GP_NO) {
        plan->job = open;
        plan->solution_count = 0;
        gp_set_whole(&plan->job, maximised, 1, GP_SOLVED);
        if (!gp_solve_choices(plan)) return false;
    }
    plan->job.settings[maximised].origin = GP_MAX;
    return true;
}

/* Beside a stated batch and accumulation the micro-batch has one value, so the largest is that one. */
static void close_settled_batch(gp_job *job) {
    bool settled = gp_known(job, GP_FIELD_GLOBAL_BATCH) && gp_known(job, GP_FIELD_GRAD_ACCUM);
    gp_setting *batch = &job->settings[GP_FIELD_MICRO_BATCH];
    if (settled && batch->origin == GP_MAX) batch->origin = GP_AUTO;
}

bool gp_solve(gp_plan *plan) {
    close_settled_batch(&plan->job);
    if (plan->job.model.params_max) {
        if (!gp_solve_size(plan)) return false;
    } else if (!choose_at_least_value(plan, maximised_field(&plan->job)) || !gp_solve_maximum(plan)) {
        return false;
    }
    gp_diagnostics_clear(&plan->scratch);
    if (!gp_layout_build(&plan->job, &plan->model, &plan->layout, &plan->diagnostics)) return false;
    gp_derive_from_layout(&plan->job, &plan->layout);
    return true;
}

bool gp_solve_outlook(const gp_job *request, gp_plan *plan) {
    gp_diagnostics_clear(&plan->diagnostics);
    if (!gp_plan_begin(request, plan) || !gp_solve(plan)) return false;
    plan->peak = gp_plan_peak(&plan->job, &plan->model, &plan->layout);
    plan->verdict = gp_plan_verdict(&plan->peak, &plan->device);
    return plan->peak.high_bytes <= GP_EXACT_MAX;
}
