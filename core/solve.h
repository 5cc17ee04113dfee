/* solve.h: closes the open fields of a job. */
#ifndef GP_SOLVE_H
#define GP_SOLVE_H

#include "plan.h"

/* Fills every open field that is the solver's (recompute, zero, tp, pp, count, micro_batch) and every maximum, the
 * model's size included, and records each as a solution. Needs a plan that gp_plan_begin prepared; fills the layout
 * and what follows from it. False when no choice gives a valid layout, with the error rows of the plainest one.
 *
 * "auto" takes the cheapest choice whose verdict is `fits`, else the cheapest `tight` one, else the one with the
 * smallest peak. Cheapest first: fewer GPUs, then fewer pipeline stages, then a smaller tensor-parallel degree, then
 * the order of `thrift` in solve_auto.c: recompute and sharding as the course's steps 2 and 5 have it. A batch left to
 * the solver is then the largest power of two that fits.
 * "max" takes the largest value for which the verdict is not `no`; the choices are made before, with the field that is
 * maximised at its least. The largest model is found with the choices that hold most, and they are then made anew for that
 * size. */
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
bool gp_solve_size(gp_plan *plan);
/* The fewest GPUs that given degrees allow. */
int64_t gp_solve_least_count(const gp_job *job);
void gp_solve_record(gp_plan *plan, gp_field field, double value, double fails_at);

/* Lays out the plan's job and returns its verdict; GP_NO when the layout is not valid. */
gp_verdict gp_solve_try(gp_plan *plan, const gp_job *job, const gp_model *model, gp_layout *layout, gp_peak *peak);

#endif
