/* solve.h: closes the open fields of a job. */
#ifndef GP_SOLVE_H
#define GP_SOLVE_H

#include "plan.h"

/* Peak of the worst GPU of a job without open fields; the stage it is on goes to *worst. The layout must be valid. */
uint64_t gp_solve_peak(const gp_job *job, const gp_model *model, const gp_layout *layout, int64_t *worst);

/* Fills every AUTO and MAX field of plan->job (and the model's size when `params` is "max"), recording each as a
 * solution. "auto" takes the cheapest choice that fits, in the order of the course's step 2, 3 and 5: recompute none,
 * selective, full; ZeRO 0, 1, 2, 3; tensor parallel 1, 2, 4 … within the node; count 1, 2, 4 …; when nothing fits, the
 * choice with the smallest peak. "max" takes the largest value for which the verdict is not "no", by doubling and
 * bisection: the peak does not fall when the field grows. Needs plan->job, model and device; fills layout. */
bool gp_solve(gp_plan *plan);

#endif
