/* advise.h: what to do next, and whether the course's rules are kept. */
#ifndef GP_ADVISE_H
#define GP_ADVISE_H

#include "plan.h"

/* Fills plan->knobs: each is the job with one change, planned anew, ordered by what it costs; at least three where
 * three exist. */
void gp_advise_knobs(gp_plan *plan);
/* Fills plan->steps, the five steps of the course procedure. */
void gp_advise_steps(gp_plan *plan);
/* Appends the warnings that a finished plan calls for. */
void gp_advise_warnings(gp_plan *plan);

#endif
