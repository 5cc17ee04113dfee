/* assume_training.c: which settings of a training job change its plan. What has no object in it (a schedule without a
 * pipeline, a sharding that another field has settled) and words that nothing here knows are told as assumptions. */
#include <string.h>

#include "plan/assume.h"

static const char *text_of(const gp_job *job, gp_field field) {
    const char *text = job->settings[field].text;
    return text != NULL ? text : "";
}

/* A list that has the text as one of its choices is read by its index, any other text by its words. */
static bool is_listed(const gp_job *job, gp_field field) { return gp_whole(job, field) >= 0; }

static bool is_replayed(const gp_plan *plan) {
    for (int op = 0; op <= GP_OP_COUNT; op++)
        if (plan->stages[0].saved_by[op] > 0) return true;
    return false;
}

/* ZeRO's buckets and FSDP2's pools are there on one GPU as well. */
static bool has_sharding(const gp_plan *plan) {
    const gp_recipe *recipe = &plan->layout.recipe;
    bool alone = recipe->framework->buckets || (recipe->fsdp && recipe->framework->separate_ends);
    return alone || plan->layout.dp * plan->layout.cp > 1;
}

/* A stated stage counts more than a name of FSDP's, which may say the same, or how it shards, or that accelerate keeps
 * fp32 parameters. */
static bool settles_sharding(const gp_plan *plan) {
    const gp_recipe *recipe = &plan->layout.recipe;
    int zero = gp_recipe_zero_of(text_of(&plan->job, GP_FIELD_FSDP));
    bool upcasts = recipe->framework->hugging_face && !recipe->framework->loads_fp32 && !gp_is_adapter(&plan->job) &&
                   gp_origin_of(&plan->job, GP_FIELD_TRAIN_WEIGHTS) != GP_GIVEN;
    bool shards = zero == 0 || has_sharding(plan);
    return (shards && (zero == plan->layout.zero || recipe->shard_ranks > 0)) || (zero >= 0 && upcasts);
}

/* Products below 16 bits: eager code keeps the casts of its inputs, in fp8. That compiled and fused code keeps 8-bit inputs
 * in place of 16-bit ones is not counted. */
static bool has_precision(const gp_plan *plan) {
    const gp_job *job = &plan->job;
    int64_t choice = gp_whole(job, GP_FIELD_PRECISION);
    return choice < GP_CHOICE_PRECISION_FP8 || (plan->layout.recipe.wide_casts && !is_replayed(plan));
}

static bool has_switch(const gp_plan *plan, gp_field field) {
    const gp_job *job = &plan->job;
    const gp_layout *layout = &plan->layout;
    const gp_recipe *recipe = &layout->recipe;
    bool adapter = gp_is_adapter(job), eager = recipe->kernels == GP_KERNELS_EAGER, on = gp_whole(job, field) != 0;
    switch (field) {
    case GP_FIELD_MASTER_WEIGHTS:
        return !on || recipe->master_bytes > 0;
    case GP_FIELD_LOGITS_UPCAST:
        return !recipe->framework->main_gradients && (recipe->loss == GP_LOSS_FULL || recipe->loss == GP_LOSS_CHUNKED);
    case GP_FIELD_SEQUENCE_PARALLEL:
        return !on || layout->tp > 1;
    case GP_FIELD_AUTOCAST:
        return !gp_is_choice(job, GP_FIELD_PRECISION, GP_CHOICE_PRECISION_FP32) &&
               (adapter ? recipe->adapter_bytes > 2 : recipe->other_bits > 16);
    case GP_FIELD_FOREACH:
        return gp_is_choice(job, GP_FIELD_OPTIMIZER, GP_CHOICE_OPTIMIZER_ADAMW) && !recipe->optimizer_on_host;
    case GP_FIELD_STEP_IN_BACKWARD:
        return !on || recipe->steps_in_backward;
    case GP_FIELD_RMSNORM_SAVES_INPUT:
        return !on || (eager && plan->model.shape.norm == GP_NORM_RMS);
    default:
        return true;
    }
}

/* DoRA is planned as LoRA: its magnitudes, and the outputs that they scale, are not counted. */
static bool is_dora(const char *kind) {
    return strstr(kind, "DORA") != NULL || strstr(kind, "DoRA") != NULL || strstr(kind, "dora") != NULL;
}

static bool has_words(const gp_plan *plan, gp_field field) {
    const gp_job *job = &plan->job;
    const gp_recipe *recipe = &plan->layout.recipe;
    switch (field) {
    case GP_FIELD_GRAD_DTYPE:
        return gp_recipe_float_bytes(text_of(job, field)) > 0;
    case GP_FIELD_RECOMPUTE_DETAIL:
        return recipe->reads_detail;
    case GP_FIELD_OFFLOAD:
        return is_listed(job, field) || recipe->reads_offload;
    case GP_FIELD_LOSS:
        return is_listed(job, field) || gp_recipe_names_chunks(job);
    case GP_FIELD_LOSS_IMPL:
        return is_replayed(plan) && recipe->loss == GP_LOSS_FULL && strncmp(text_of(job, field), "hf-old", 6) == 0;
    case GP_FIELD_DROPOUT_KERNEL:
        return is_replayed(plan) && gp_known(job, GP_FIELD_DROPOUT) && gp_real(job, GP_FIELD_DROPOUT) > 0 &&
               strncmp(text_of(job, field), "F.dropout", 9) == 0;
    case GP_FIELD_LORA_KIND:
        return !is_dora(text_of(job, field));
    case GP_FIELD_FSDP:
        return settles_sharding(plan);
    case GP_FIELD_COMPILE:
        return !gp_recipe_compiles(job) || recipe->framework->kernels == GP_KERNELS_EAGER;
    default:
        return has_switch(plan, field);
    }
}

bool gp_assume_training(const gp_plan *plan, gp_field field) {
    const gp_job *job = &plan->job;
    const gp_layout *layout = &plan->layout;
    const gp_recipe *recipe = &layout->recipe;
    switch (field) {
    case GP_FIELD_PRECISION:
        return has_precision(plan);
    case GP_FIELD_OPTIMIZER:
        return !gp_is_adapter(job) || !gp_is_choice(job, field, GP_CHOICE_OPTIMIZER_BADAM);
    case GP_FIELD_RECOMPUTE:
        return gp_whole(job, field) != GP_RECOMPUTE_PARTIAL || recipe->reads_detail;
    case GP_FIELD_ZERO:
        return gp_whole(job, field) == 0 || has_sharding(plan);
    case GP_FIELD_MTP_LAYERS:
        return gp_whole(job, field) == layout->mtp;
    case GP_FIELD_SCHEDULE:
        return gp_whole(job, field) == 0 || layout->pp > 1;
    case GP_FIELD_PP_LAYERS:
        return gp_is_choice(job, field, GP_CHOICE_PP_LAYERS_EVEN) || layout->pp > 1;
    case GP_FIELD_DROPOUT:
        return !(gp_real(job, field) > 0) || plan->model.shape.norm != GP_NORM_RMS || !recipe->flash ||
               recipe->framework->main_gradients;
    default:
        return has_words(plan, field);
    }
}
