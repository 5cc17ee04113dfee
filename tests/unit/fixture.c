#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"

static void settle(gp_job *job, gp_field field, int64_t value) {
    if (!gp_known(job, field)) gp_set_whole(job, field, value, GP_SOLVED);
}

fixture *fixture_of(const char *text) {
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL) abort();
    f->tree = cJSON_Parse(text);
    if (f->tree == NULL) abort();
    gp_job_read(f->tree, &f->job, &f->diagnostics);
    settle(&f->job, GP_FIELD_RECOMPUTE, GP_RECOMPUTE_NONE);
    settle(&f->job, GP_FIELD_ZERO, 0);
    settle(&f->job, GP_FIELD_TP, 1);
    f->valid = gp_model_build(&f->job, &f->model, &f->diagnostics) &&
               gp_layout_build(&f->job, &f->model, &f->layout, &f->diagnostics);
    return f;
}

void fixture_free(fixture *f) {
    cJSON_Delete(f->tree);
    free(f);
}

bool fixture_has(const fixture *f, gp_code code, const char *path) {
    for (int i = 0; i < f->diagnostics.count; i++)
        if (f->diagnostics.rows[i].code == code && strcmp(f->diagnostics.rows[i].path, path) == 0) return true;
    return false;
}

uint64_t item_bytes(const gp_stage_ledger *ledger, gp_item_id id) {
    uint64_t sum = 0;
    for (int i = 0; i < ledger->count; i++)
        if (ledger->allocations[i].id == id) sum = gp_add(sum, ledger->allocations[i].amount.bytes);
    return sum;
}

fixture *fixture_training(const char *count, const char *train) {
    char text[1024];
    snprintf(text, sizeof text, "{\"task\":\"pretrain\"," LLAMA_8B ",\"hardware\":{\"gpu\":\"H100\",\"count\":%s},\"train\":{%s}}",
             count, train);
    return fixture_of(text);
}

gp_stage_share fixture_stage(const fixture *f, int64_t index) {
    gp_stage_share share;
    gp_layout_stage(&f->job, &f->model, &f->layout, index, &share);
    return share;
}
