/* figures.h: what a finished plan says besides its memory: the key-value cache and the course's times. */
#ifndef GP_FIGURES_H
#define GP_FIGURES_H

#include "plan/solve.h"

/* Inference: fills plan->kv. Needs the stages. */
void gp_figures_kv(gp_plan *plan);
/* kv.bytes of a measured plan. */
uint64_t gp_figures_cache(const gp_plan *plan);
/* Fills plan->time as far as a training job gives the figures it rests on (times only in the textbook ledger), and
 * plan->serving for inference, after gp_figures_kv. */
void gp_figures_time(gp_plan *plan);

#endif
