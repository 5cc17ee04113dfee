#include "plan/solve.h"

#include "ledger/balance.h"
#include "plan/derive.h"

void gp_solve_record(gp_plan *plan, gp_field field, double value, double fails_at) {
    if (plan->solution_count == GP_SOLUTIONS_MAX) return;
    plan->solutions[plan->solution_count++] = (gp_solution){field, value, fails_at};
}

/* Beside a stated batch and accumulation the micro-batch has one value, so the largest is that one. */
static void close_settled_batch(gp_job *job) {
    bool settled = gp_known(job, GP_FIELD_GLOBAL_BATCH) && gp_known(job, GP_FIELD_GRAD_ACCUM);
    gp_setting *batch = &job->settings[GP_FIELD_MICRO_BATCH];
    if (settled && batch->origin == GP_MAX) batch->origin = GP_AUTO;
}

bool gp_solve(gp_plan *plan) {
    close_settled_batch(&plan->job);
    bool maximum = plan->job.model.params_max || gp_solve_maximised(&plan->job) != GP_FIELD_TOTAL;
    if (!(maximum ? gp_solve_maximum(plan) : gp_solve_choices(plan))) return false;
    gp_diagnostics_clear(&plan->scratch);
    if (!gp_layout_build(&plan->job, &plan->model, &plan->layout, &plan->diagnostics)) return false;
    gp_balance_stages(&plan->job, &plan->model, &plan->layout, true);
    gp_derive_from_layout(&plan->job, &plan->layout);
    return true;
}

bool gp_solve_outlook(const gp_job *request, gp_plan *plan) {
    gp_diagnostics_clear(&plan->diagnostics);
    if (!gp_plan_begin(request, plan) || !gp_solve(plan)) return false;
    bool asked = plan->peak.bytes > 0 && !plan->layout.balances; /* the search has found the peak */
    if (!asked) plan->peak = gp_plan_peak(&plan->job, &plan->model, &plan->layout);
    plan->verdict = gp_plan_verdict(&plan->peak, &plan->device);
    return plan->peak.high_bytes <= GP_EXACT_MAX;
}
