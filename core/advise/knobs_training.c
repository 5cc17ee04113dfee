#include "plan/derive.h"
#include "advise/knobs.h"

static bool is(const gp_draft *draft, gp_field field, const char *choice) {
    return gp_choice_is(&draft->plan->job, field, choice);
}

static bool chunked_loss(gp_draft *draft) {
    bool whole = is(draft, GP_FIELD_LOSS, "full") || is(draft, GP_FIELD_LOSS, "none");
    return whole && gp_draft_choice(draft, GP_FIELD_LOSS, "chunked");
}

static bool balance_stages(gp_draft *draft) {
    if (draft->plan->layout.pp == 1 || draft->plan->layout.split_stages > 0) return false;
    return gp_draft_choice(draft, GP_FIELD_PP_LAYERS, "balance");
}

static bool zero_2(gp_draft *draft) {
    const gp_layout *layout = &draft->plan->layout;
    if (layout->dp == 1 || layout->zero >= 2) return false;
    return gp_draft_whole(draft, GP_FIELD_ZERO, 2);
}

static bool zero_3(gp_draft *draft) {
    const gp_layout *layout = &draft->plan->layout;
    if (layout->dp == 1 || layout->zero == 3) return false;
    return gp_draft_whole(draft, GP_FIELD_ZERO, 3);
}

/* The global batch stays what it is: fewer sequences at a time, more often. */
static bool set_micro_batch(gp_draft *draft, int64_t micro_batch) {
    const gp_job *job = &draft->plan->job;
    const gp_layout *layout = &draft->plan->layout;
    if (!gp_draft_whole(draft, GP_FIELD_MICRO_BATCH, micro_batch)) return false;
    bool batch_given = gp_origin_of(job, GP_FIELD_GLOBAL_BATCH) == GP_GIVEN;
    if (batch_given && gp_origin_of(job, GP_FIELD_GRAD_ACCUM) != GP_GIVEN) return true;
    int64_t sequences = layout->micro_batch * layout->grad_accum;
    int64_t steps = sequences / micro_batch;
    return gp_draft_whole(draft, GP_FIELD_GRAD_ACCUM, steps > 0 ? steps : 1);
}

static bool smaller_micro_batch(gp_draft *draft) {
    int64_t half = draft->plan->layout.micro_batch / 2;
    return half > 0 && set_micro_batch(draft, half);
}

static bool larger_micro_batch(gp_draft *draft) {
    return set_micro_batch(draft, draft->plan->layout.micro_batch * 2);
}

static bool recompute_selective(gp_draft *draft) {
    return is(draft, GP_FIELD_RECOMPUTE, "none") && gp_draft_choice(draft, GP_FIELD_RECOMPUTE, "selective");
}

static bool recompute_full(gp_draft *draft) {
    return !is(draft, GP_FIELD_RECOMPUTE, "full") && gp_draft_choice(draft, GP_FIELD_RECOMPUTE, "full");
}

static bool less_recompute(gp_draft *draft) {
    if (is(draft, GP_FIELD_RECOMPUTE, "none")) return false;
    bool full = is(draft, GP_FIELD_RECOMPUTE, "full");
    return gp_draft_choice(draft, GP_FIELD_RECOMPUTE, full ? "selective" : "none");
}

static bool tensor_parallel(gp_draft *draft) {
    const gp_layout *layout = &draft->plan->layout;
    if (layout->tp * 2 > layout->per_node || layout->gpus % (layout->tp * 2) != 0) return false;
    if (gp_origin_of(&draft->plan->job, GP_FIELD_DP) == GP_GIVEN) return false;
    return gp_draft_whole(draft, GP_FIELD_TP, layout->tp * 2);
}

static bool offload_optimizer(gp_draft *draft) {
    if (draft->plan->device.is_host || gp_is_adapter(&draft->plan->job)) return false;
    return is(draft, GP_FIELD_OFFLOAD, "none") && gp_draft_choice(draft, GP_FIELD_OFFLOAD, "optimizer");
}

static bool optimizer_8bit(gp_draft *draft) {
    return is(draft, GP_FIELD_OPTIMIZER, "adamw") && gp_draft_choice(draft, GP_FIELD_OPTIMIZER, "adamw8bit");
}

static bool lora(gp_draft *draft) {
    return gp_task_of(&draft->plan->job) == GP_FULL && gp_draft_choice(draft, GP_FIELD_TASK, "lora");
}

static bool qlora(gp_draft *draft) {
    gp_task task = gp_task_of(&draft->plan->job);
    return (task == GP_FULL || task == GP_LORA) && gp_draft_choice(draft, GP_FIELD_TASK, "qlora");
}

static bool shorter_sequence(gp_draft *draft) {
    int64_t half = draft->plan->layout.seq_len / 2;
    return half >= 128 && gp_draft_whole(draft, GP_FIELD_SEQ_LEN, half);
}

static bool longer_sequence(gp_draft *draft) {
    return gp_draft_whole(draft, GP_FIELD_SEQ_LEN, draft->plan->layout.seq_len * 2);
}

static const gp_knob_row rows[] = {
    {"chunked_loss", {GP_COST_NONE, 0, 0, "Wijmans et al. 2024, arXiv:2411.09009, section 5"}, false, chunked_loss},
    {"zero_2", {GP_COST_NONE, 0, 0, "Rajbhandari et al. 2020, arXiv:1910.02054, section 7.1: the same traffic"}, false,
     zero_2},
    {"balance_stages", {GP_COST_TIME, 0, 0, ""}, false, balance_stages},
    {"less_recompute",
     {GP_COST_TIME, -0.28, -0.04, "Korthikanti et al. 2022, arXiv:2205.05198, table 4"}, true, less_recompute},
    {"larger_micro_batch", {GP_COST_TIME, 0, 0, ""}, true, larger_micro_batch},
    {"smaller_micro_batch", {GP_COST_TIME, 0, 0, ""}, false, smaller_micro_batch},
    {"recompute_selective",
     {GP_COST_TIME, 0.04, 0.07, "Korthikanti et al. 2022, arXiv:2205.05198, table 4"}, false, recompute_selective},
    {"zero_3",
     {GP_COST_TIME, 0, 0.5, "Rajbhandari et al. 2020, arXiv:1910.02054, section 7.2: half as much traffic again"},
     false, zero_3},
    {"recompute_full",
     {GP_COST_TIME, 0.29, 0.39, "Korthikanti et al. 2022, arXiv:2205.05198, tables 4 and 5"}, false, recompute_full},
    {"tensor_parallel",
     {GP_COST_TIME, 0, 0, "Shoeybi et al. 2019, arXiv:1909.08053, section 3: two all-reduces a layer and pass"}, false,
     tensor_parallel},
    {"offload_optimizer",
     {GP_COST_TIME, 0.2, 3.2, "torchao CPUOffloadOptimizer 1.20x; Megatron Core optimizer offload up to 4.2x"}, false,
     offload_optimizer},
    {"optimizer_8bit", {GP_COST_QUALITY, 0, 0, "Dettmers et al. 2022, arXiv:2110.02861, section 3"}, false,
     optimizer_8bit},
    {"lora", {GP_COST_QUALITY, 0, 0, "Hu et al. 2021, arXiv:2106.09685, section 5"}, false, lora},
    {"qlora", {GP_COST_QUALITY, 0, 0, "Dettmers et al. 2023, arXiv:2305.14314, section 4"}, false, qlora},
    {"longer_sequence", {GP_COST_CAPACITY, 2, 2, ""}, true, longer_sequence},
    {"shorter_sequence", {GP_COST_CAPACITY, 0.5, 0.5, ""}, false, shorter_sequence},
    {"fewer_gpus", {GP_COST_HARDWARE, 0.5, 0.5, ""}, true, gp_knob_fewer_gpus},
    {"more_gpus", {GP_COST_HARDWARE, 2, 2, ""}, false, gp_knob_more_gpus},
    {"bigger_gpu", {GP_COST_HARDWARE, 1, 1, ""}, false, gp_knob_bigger_gpu},
    {NULL, {GP_COST_NONE, 0, 0, ""}, false, NULL},
};

const gp_knob_row *gp_knobs_training(void) { return rows; }
