/* fixture.h: a job with its model and layout, from the text of a request's `job` object. */
#ifndef GP_TEST_FIXTURE_H
#define GP_TEST_FIXTURE_H

#include "ledger/ledger.h"

typedef struct {
    struct cJSON *tree;
    gp_job job;
    gp_model model;
    gp_layout layout;
    gp_diagnostics diagnostics;
    bool valid; /* job, model and layout came out without an error */
} fixture;

#define LLAMA_8B "\"model\":{\"layers\":32,\"hidden\":4096,\"heads\":32,\"kv_heads\":8,\"head_dim\":128,\"ffn\":14336," \
                 "\"vocab\":128256,\"tied_embeddings\":false,\"style\":\"llama\"}"

/* Reads `text`; open fields that the solver would fill take `recompute` none, ZeRO 0 and tensor parallel 1. Owned by the
 * caller (fixture_free). */
fixture *fixture_of(const char *text);
void fixture_free(fixture *f);
/* Pretraining of LLAMA_8B on `count` H100, with the fields of `train`. */
fixture *fixture_training(const char *count, const char *train);
gp_stage_share fixture_stage(const fixture *f, int64_t index);

/* True when the diagnostics hold `code` at `path`. */
bool fixture_has(const fixture *f, gp_code code, const char *path);
/* Bytes of the allocations of `id`, all together. */
uint64_t item_bytes(const gp_stage_ledger *ledger, gp_item_id id);

#endif
