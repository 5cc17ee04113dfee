/* model_layer.h: the parts of a layer. Private to model*.c. */
#ifndef GP_MODEL_LAYER_H
#define GP_MODEL_LAYER_H

#include "model/model.h"

/* Parameters of one norm: LayerNorm has a weight and a bias, RMSNorm a weight.
 * Ba et al. 2016, arXiv:1607.06450, eq. 4; Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4. */
uint64_t gp_norm_params(gp_norm norm, int64_t width);

/* Appends a matrix, or `copies` of one, and adds it to the layer's counts. */
void gp_add_matrix(gp_layer *layer, gp_tensor tensor, int64_t inputs, int64_t outputs, bool bias, gp_split split);
void gp_add_copies(gp_layer *layer, gp_tensor tensor, int64_t inputs, int64_t outputs, bool bias, gp_split split,
                   int64_t copies);

/* Appends the matrices and states of the layer's recurrence. */
void gp_add_recurrence(const gp_shape *shape, gp_layer *layer);

#endif
