/* waterfall.h: why an engine has less for its cache than the card's name promises: each step from the nominal size to
 * the tokens of the pool, on the GPU that limits them. */
#ifndef GP_WATERFALL_H
#define GP_WATERFALL_H

#include "plan/plan.h"

typedef enum {
    GP_FALL_NOMINAL,   /* the size in the card's name */
    GP_FALL_VISIBLE,   /* what the driver shows */
    GP_FALL_DRIVER,    /* kept by driver and firmware */
    GP_FALL_MACOS,     /* memory of host and GPU that macOS keeps from the GPU */
    GP_FALL_TARGET,    /* left aside by the engine's share of the device */
    GP_FALL_CONTEXT, GP_FALL_COMM, GP_FALL_WEIGHTS, GP_FALL_WORKSPACE, GP_FALL_GRAPHS, GP_FALL_STATE,
    GP_FALL_KEPT_FREE, /* left aside by a share of what is free after loading */
    GP_FALL_POOL,      /* the cache: what is left */
    GP_FALL_COUNT
} gp_fall;

typedef struct {
    int64_t stage;
    double bytes[GP_FALL_COUNT]; /* taken by each step; NOMINAL, VISIBLE and POOL: what is there */
    double tokens;               /* of one replica */
    double sequences;            /* at the job's context */
} gp_waterfall;

/* Of a measured plan for inference; false for the host, the textbook ledger and models without a cache. */
bool gp_waterfall_of(const gp_plan *plan, gp_waterfall *waterfall);
const char *gp_fall_key(gp_fall fall); /* "kept_free" */

#endif
