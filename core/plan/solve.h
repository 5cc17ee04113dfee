/* solve.h: closes the open fields of a job. */
#ifndef GP_SOLVE_H
#define GP_SOLVE_H

#include "plan/plan.h"

/* Fills every open field that is the solver's (recompute, zero, tp, pp, count, micro_batch) and every maximum, the
 * model's size included, and records each as a solution. Needs a plan that gp_plan_begin prepared; fills the layout
 * and what follows from it. False when no choice gives a valid layout, with the error rows of the plainest one.
 *
 * "auto" takes the cheapest choice whose verdict is `fits`, else the cheapest `tight` one, else the one with the
 * smallest peak. Cheapest first: fewer GPUs, then fewer pipeline stages, then a smaller tensor-parallel degree, then
 * the order of `thrift` in search.c: recompute and sharding as the course's steps 2 and 5 have it. A batch left to
 * the solver is then the largest power of two that fits, with the stage of ZeRO among those of one cost that lets it
 * grow most.
 * "max" takes the largest value for which some choice of the fields left open is not `no`; the choices are then the
 * cheapest at that value. An open count comes first: see solve_max.c. */
bool gp_solve(gp_plan *plan);

/* gp_plan_begin and gp_solve in one, with the peak and verdict but without stages: what a job would come to. Rows go
 * to plan->diagnostics, which is cleared first. */
bool gp_solve_outlook(const gp_job *request, gp_plan *plan);

/* Largest value of a field, from `least` up to its limit, for which the plan's job is not `no`; 0 when not even
 * `least` is. `fails_at` gets the next value that was tried or can be tried, 0 = none. The plan stays as it is. */
uint64_t gp_solve_largest(gp_plan *plan, gp_field field, uint64_t least, uint64_t *fails_at);

/* The parts: solve_auto.c, solve_max.c. */
bool gp_solve_choices(gp_plan *plan);
bool gp_solve_maximum(gp_plan *plan);
/* The field that the job maximises, or GP_FIELD_TOTAL. */
gp_field gp_solve_maximised(const gp_job *job);
/* The fewest GPUs that given degrees allow. */
int64_t gp_solve_least_count(const gp_job *job);
void gp_solve_record(gp_plan *plan, gp_field field, double value, double fails_at);

#endif
