/* planner.h: a job's whole plan, from the request to the advice. */
#ifndef GP_PLANNER_H
#define GP_PLANNER_H

#include "plan/plan.h"

/* Plans a job. plan->diagnostics must be cleared, or hold what was found in reading the job: then the plan stops before
 * the solver, once every other fault is found too. False when there are errors. With `outlook`, room for one more plan,
 * fills steps, knobs and assumptions; with NULL, only what a brief report prints.
 * `job` must outlive the plan, which must be released either way. */
bool gp_plan_make(const gp_job *job, gp_plan *outlook, gp_plan *plan);

#endif
