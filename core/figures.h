/* figures.h: what a finished plan says besides its memory: the key-value cache and the course's times. */
#ifndef GP_FIGURES_H
#define GP_FIGURES_H

#include "solve.h"

/* Inference: fills plan->kv. Needs the stages. */
void gp_figures_kv(gp_plan *plan);
/* kv.bytes of a measured plan. */
uint64_t gp_figures_cache(const gp_plan *plan);
/* Training: fills plan->time as far as the job gives the figures it rests on; times only in the textbook ledger. */
void gp_figures_time(gp_plan *plan);

#endif
