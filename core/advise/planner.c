#include "advise/planner.h"

#include "advise/advise.h"
#include "plan/assume.h"
#include "plan/figures.h"
#include "plan/solve.h"

static bool is_exact(const gp_plan *plan) {
    const gp_kv_figures *kv = &plan->kv;
    return kv->bytes_per_token <= GP_EXACT_MAX && kv->bytes <= GP_EXACT_MAX;
}

static bool make(const gp_job *job, gp_plan *plan) {
    if (!gp_plan_begin(job, plan) || !gp_solve(plan) || !gp_plan_measure(plan)) return false;
    if (!gp_is_training(job)) gp_figures_kv(plan);
    gp_figures_time(plan);
    if (!is_exact(plan)) gp_diagnose(&plan->diagnostics, GP_CODE_NUMBER_TOO_LARGE, "");
    return is_exact(plan);
}

bool gp_plan_make(const gp_job *job, gp_plan *outlook, gp_plan *plan) {
    if (!make(job, plan)) {
        gp_plan_explain(plan);
        return false;
    }
    gp_advise_warnings(plan);
    if (outlook == NULL) return true;
    gp_advise_steps(plan);
    gp_advise_knobs(plan, outlook);
    gp_assume(plan);
    return true;
}
