/* states.h: what serving engines keep of recurrent layers for each sequence, and the pages that vLLM puts it in. */
#ifndef GP_STATES_H
#define GP_STATES_H

#include "formulas/formulas.h"
#include "ledger/ledger.h"

typedef struct {
    double conv_bytes, state_bytes; /* of one element of a convolution's inputs and of a state */
    double each;                    /* states that a sequence holds: its own, and those that a prefix cache or guesses need */
    double page_tokens, page_bytes; /* vLLM, hybrids: a page of the cache, which is also a state's place; 0 = no such pages */
    double group;                   /* layers that share a table of pages; recurrent ones come in whole groups */
} gp_states;

/* States of one stage's layers on one rank of a server with a block-wise cache. */
void gp_states_of(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_cache *cache, gp_states *states);

/* Bytes of the states of the layout's sequences. */
gp_amount gp_states_amount(const gp_states *states, const gp_cache *cache, double sequences);

#endif
