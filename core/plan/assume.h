/* assume.h: what a plan rests on besides the request's own words. */
#ifndef GP_ASSUME_H
#define GP_ASSUME_H

#include "plan/plan.h"

/* Appends an assumption for every default, derived and solved value that matters to the plan's task, and for every
 * given value that has no effect on it. */
void gp_assume(gp_plan *plan);

/* assume_serving.c: true when a plan of inference has nothing that `field`, which its job states, could act on. */
bool gp_assume_lacks_object(const gp_plan *plan, gp_field field);

/* True unless the value that a training job gives a field is without effect on its plan, in the detailed ledger. */
bool gp_assume_training(const gp_plan *plan, gp_field field);

#endif
