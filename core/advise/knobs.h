/* knobs.h: the knobs that advise_knobs.c tries, each a change to a job. */
#ifndef GP_KNOBS_H
#define GP_KNOBS_H

#include "plan/plan.h"

/* A knob in the making: the job with the change so far. */
typedef struct {
    const gp_plan *plan; /* before the change */
    gp_job job;          /* the request with the change */
    gp_knob *knob;       /* receives the changes */
} gp_draft;

/* A row of the table: `propose` changes the draft's job, or returns false where the knob has no meaning. */
typedef struct {
    const char *id;
    gp_cost cost;
    bool uses_room; /* spends memory rather than saving it */
    bool (*propose)(gp_draft *draft);
} gp_knob_row;

/* The table of a task, in order of cost, ended by a row without id. */
const gp_knob_row *gp_knobs_training(void);
const gp_knob_row *gp_knobs_inference(void);
/* Rows that both tables end with: knobs_hardware.c. */
bool gp_knob_more_gpus(gp_draft *draft);
bool gp_knob_fewer_gpus(gp_draft *draft);
bool gp_knob_bigger_gpu(gp_draft *draft);

/* Changes of a draft. Numbers beyond the field's limits are refused. */
bool gp_draft_whole(gp_draft *draft, gp_field field, int64_t value);
bool gp_draft_real(gp_draft *draft, gp_field field, double value);
bool gp_draft_choice(gp_draft *draft, gp_field field, const char *choice);
bool gp_draft_gpu(gp_draft *draft, const gp_gpu_row *row);
/* Holds a value that the solver found. */
void gp_draft_hold(gp_draft *draft, const gp_solution *solution);

#endif
