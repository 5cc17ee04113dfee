/* balance.h: layers over pipeline stages so that the fullest GPU is as empty as it can be. The first stage holds the
 * embedding and most micro-batches in flight, the last one the output matrix and the loss, and layers may be unequal. */
#ifndef GP_BALANCE_H
#define GP_BALANCE_H

#include "ledger/ledger.h"

/* Sets the split of a layout that asks for one (layout->balances): the worst stage's peak is within a thousandth of
 * the lowest that is possible. `evenly`: of all such splits the one with the least sum of squared layers per stage,
 * which evens out the work; otherwise any. Where memory runs out the layers stay as they were. Time: about
 * pp * log(layers) ledgers for each halving of the peak, and layers times as many when `evenly`. */
void gp_balance_stages(const gp_job *job, const gp_model *model, gp_layout *layout, bool evenly);

#endif
