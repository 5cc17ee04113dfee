/* llama_cpp.h: the ledger of llama.cpp, whose buffers are laid out when a context is created. Private to
 * ledger_inference.c. */
#ifndef GP_LLAMA_CPP_H
#define GP_LLAMA_CPP_H

#include "ledger/ledger.h"

/* Appends weights, cache, recurrent state, output and compute buffers of one stage. */
void gp_ledger_llama(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger);

#endif
