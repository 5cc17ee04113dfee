#include <math.h>
#include <string.h>

#include "advise/knobs.h"

/* Twice the GPUs. Data parallelism grows with them, where it is given. */
bool gp_knob_more_gpus(gp_draft *draft) {
    const gp_plan *plan = draft->plan;
    bool train = gp_is_training(&plan->job);
    gp_field replicas = train ? GP_FIELD_DP : GP_FIELD_INFER_DP;
    if (plan->device.is_host) return false;
    /* An engine splits the model over given degrees; more replicas would free nothing. */
    gp_field split = GP_FIELD_INFER_TP;
    bool split_given = !train && gp_origin_of(&plan->job, split) == GP_GIVEN;
    if (!gp_draft_whole(draft, GP_FIELD_COUNT, plan->layout.gpus * 2)) return false;
    if (split_given) return gp_draft_whole(draft, split, plan->layout.tp * 2);
    if (gp_origin_of(&plan->job, replicas) != GP_GIVEN) return true;
    return train && gp_draft_whole(draft, replicas, plan->layout.dp * 2);
}

/* Half the GPUs, where their number is not left to the solver. */
bool gp_knob_fewer_gpus(gp_draft *draft) {
    const gp_plan *plan = draft->plan;
    gp_field replicas = gp_is_training(&plan->job) ? GP_FIELD_DP : GP_FIELD_INFER_DP;
    bool stated = gp_origin_of(plan->request, GP_FIELD_COUNT) == GP_GIVEN;
    if (plan->device.is_host || !stated || plan->layout.gpus % 2 != 0) return false;
    if (!gp_draft_whole(draft, GP_FIELD_COUNT, plan->layout.gpus / 2)) return false;
    if (gp_origin_of(&plan->job, replicas) != GP_GIVEN) return true;
    return plan->layout.dp % 2 == 0 && gp_draft_whole(draft, replicas, plan->layout.dp / 2);
}

static uint64_t visible_bytes(const gp_gpu_row *row) {
    if (row->memory_bytes > 0) return row->memory_bytes;
    return gp_bytes_from_double(row->memory_gb_nominal * (double)GP_GIB);
}

/* The same vendor's smallest card that is larger and, where the plan does not fit, has room for its peak. Of cards of
 * one size the newest is taken. */
bool gp_knob_bigger_gpu(gp_draft *draft) {
    const gp_plan *plan = draft->plan;
    const gp_gpu_row *own = plan->device.row, *best = NULL;
    if (own == NULL || plan->verdict == GP_FITS) return false;
    uint64_t wanted = plan->device.capacity_bytes + plan->device.capacity_bytes / 10;
    double held_back = (double)plan->device.capacity_bytes / fmax(1, (double)plan->device.usable_bytes);
    uint64_t needed = gp_bytes_from_double((double)plan->peak.bytes * held_back);
    if (needed > wanted) wanted = gp_add(needed, needed / 50);
    for (int i = 0; i < gp_catalog_gpu_count(); i++) {
        const gp_gpu_row *row = gp_catalog_gpu(i);
        uint64_t bytes = visible_bytes(row);
        if (strcmp(row->vendor, own->vendor) != 0 || bytes < wanted || row->release_year < own->release_year) continue;
        bool better = best == NULL || bytes < visible_bytes(best) ||
                      (bytes == visible_bytes(best) && row->release_year > best->release_year);
        if (better) best = row;
    }
    return best != NULL && gp_draft_gpu(draft, best);
}
