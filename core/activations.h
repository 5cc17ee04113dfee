/* activations.h: what one layer keeps for its backward pass, tensor by tensor. Of unlike layers the mean is kept, the
 * largest is live. */
#ifndef GP_ACTIVATIONS_H
#define GP_ACTIVATIONS_H

#include "layout.h"

/* Bytes per token on one rank (tensor and sequence parallelism applied; context parallelism divides the tokens). */
typedef struct {
    double kept;       /* a layer between forward and backward under the job's recompute policy */
    double live;       /* a layer without recomputation: what the recomputed layer holds while it runs backward */
    double checkpoint; /* input of a layer */
    double working;    /* gradients of activations in flight within the layer that runs backward */
    double ends;       /* outside the layers: final norm and input of the output matrix, on the last stage */
} gp_layer_bytes;

gp_layer_bytes gp_layer_activations(const gp_job *job, const gp_model *model, const gp_layout *layout,
                                    const gp_stage_share *share);

#endif
