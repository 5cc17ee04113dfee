/* advise.h: what to do next, and whether the course's rules are kept. Every key emitted is a row of messages.def. */
#ifndef GP_ADVISE_H
#define GP_ADVISE_H

#include "plan/solve.h"

/* Fills plan->knobs. Each is the request with one change, planned anew, so applying it gives exactly the peak it
 * states. Where the request asks for a maximum, where the knob uses room, or where open choices would spend what it
 * frees, the change also holds every value that the solver found.
 * A plan that does not fit, or only just, lists what saves memory; one that fits lists first what uses the room. Within
 * each, the order is that of the cost: nothing, time, quality, capacity, hardware.
 * `outlook` is room for one more plan, whatever it held before. */
void gp_advise_knobs(gp_plan *plan, gp_plan *outlook);

/* Fills plan->steps, the five steps of the course procedure: memory, sharding, model parallelism, batch, precision. */
void gp_advise_steps(gp_plan *plan);

/* Appends the warnings that a finished plan calls for:
 *   the machine: TP_ACROSS_NODES, HOST_MEMORY_EXCEEDED, NO_HEADROOM
 *   a layout larger than the job: SPLIT_NOT_NEEDED, ZERO3_BEFORE_NEEDED (given degrees, when a plainer one fits)
 *   a knob that does not help: RANK_NOT_A_MEMORY_KNOB, FROZEN_NOT_SHARDED, ZERO3_NF4_NOT_SHARDED
 *   the model: CONTEXT_BEYOND_MODEL, PROMPT_BEYOND_CONTEXT, WINDOW_IGNORED, UNEVEN_STAGES
 *   numbers: FP16_OVERFLOW, LOGITS_DOMINATE */
void gp_advise_warnings(gp_plan *plan);

/* State (weights, gradients, master weights, optimizer, adapters) of one stage, whenever alive. */
uint64_t gp_advise_state_bytes(const gp_stage_ledger *stage);
/* Verdict of the plan's job, changed, on the same GPUs; the layout goes to `layout`. Uses plan->scratch. */
gp_verdict gp_advise_verdict(gp_plan *plan, const gp_job *changed, gp_layout *layout);
/* The plan's job with another ZeRO stage. */
void gp_advise_with_zero(const gp_plan *plan, int zero, gp_job *changed);

#endif
