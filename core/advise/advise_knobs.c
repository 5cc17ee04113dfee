#include "advise/advise.h"
#include "plan/figures.h"
#include "advise/knobs.h"

/* True when the request asked for a maximum and the solver filled it. */
static bool has_maximum(const gp_plan *plan) {
    if (plan->request->model.params_max) return true;
    for (int i = 0; i < plan->solution_count; i++)
        if (gp_origin_of(plan->request, plan->solutions[i].field) == GP_MAX) return true;
    return false;
}

static void hold_solutions(gp_draft *draft) {
    for (int i = 0; i < draft->plan->solution_count; i++) gp_draft_hold(draft, &draft->plan->solutions[i]);
}

/* A plan of many GPUs may hold sums beyond 2^53 that none of its GPUs does; it would be refused. */
static bool has_exact_sums(gp_plan *outlook) {
    if (gp_mul(outlook->peak.high_bytes, (uint64_t)outlook->layout.gpus) <= GP_EXACT_MAX) return true;
    bool serving = !gp_is_training(&outlook->job);
    bool exact = gp_plan_measure(outlook) && (!serving || gp_figures_cache(outlook) <= GP_EXACT_MAX);
    gp_plan_release(outlook);
    return exact;
}

/* Plans the draft and fills its knob. False when the change gives no valid job. */
static bool measure(gp_draft *draft, gp_plan *outlook) {
    gp_knob *knob = draft->knob;
    if (!gp_solve_outlook(&draft->job, outlook) || !has_exact_sums(outlook)) return false;
    knob->peak_bytes_after = outlook->peak.bytes;
    knob->saves_bytes = (int64_t)draft->plan->peak.bytes - (int64_t)outlook->peak.bytes;
    knob->verdict_after = outlook->verdict;
    return true;
}

/* A millionth of the peak is less than a report shows. */
static bool is_worth_it(const gp_plan *plan, const gp_knob_row *row, const gp_knob *knob) {
    if (row->uses_room) return knob->verdict_after != GP_NO && knob->saves_bytes <= 0;
    return knob->saves_bytes > (int64_t)(plan->peak.bytes / 1000000) || knob->verdict_after < plan->verdict;
}

/* Makes the knob of a row as the plan's next one; false when it has no meaning or no use. */
static bool try_row(gp_plan *plan, const gp_knob_row *row, bool hold, gp_plan *outlook) {
    gp_draft draft = {.plan = plan, .job = *plan->request, .knob = &plan->knobs[plan->knob_count]};
    draft.job.gpu = plan->job.gpu; /* with its row */
    *draft.knob = (gp_knob){.id = row->id, .cost = row->cost};
    if (!row->propose(&draft)) return false;
    if (hold) hold_solutions(&draft);
    return measure(&draft, outlook) && is_worth_it(plan, row, draft.knob);
}

/* Choices left to the solver stay open where the knob frees memory all the same. Where they would spend what it frees
 * on a cheaper choice, they are held, which shows what the knob is worth by itself. What uses room always holds them:
 * a dearer choice made for it would be a price that the knob does not name. */
static void try_rows(gp_plan *plan, const gp_knob_row *rows, bool uses_room, gp_plan *outlook) {
    bool maximum = has_maximum(plan), open = plan->solution_count > 0;
    for (const gp_knob_row *row = rows; row->id != NULL && plan->knob_count < GP_ADVICE_MAX; row++) {
        if (row->uses_room != uses_room) continue;
        bool hold = uses_room || maximum;
        bool found = try_row(plan, row, hold, outlook) || (!hold && open && try_row(plan, row, true, outlook));
        if (found) plan->knob_count++;
    }
}

void gp_advise_knobs(gp_plan *plan, gp_plan *outlook) {
    const gp_knob_row *rows = gp_is_training(&plan->job) ? gp_knobs_training() : gp_knobs_inference();
    /* Of a host of unknown size no room is known to use. */
    if (!gp_device_is_measured(&plan->device)) {
        try_rows(plan, rows, false, outlook);
        return;
    }
    bool fits = plan->verdict == GP_FITS;
    try_rows(plan, rows, fits, outlook);
    if (plan->verdict != GP_NO) try_rows(plan, rows, !fits, outlook);
}
