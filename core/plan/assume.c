#include "plan/assume.h"

#include "ledger/activations.h"
#include "plan/derive.h"

/* Defaults that stand for "not used" (one stage, no offload …) are no news. */
static bool default_matters(const gp_job *job, gp_field field) {
    bool textbook = gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_TEXTBOOK);
    switch (field) {
    case GP_FIELD_COUNT:
    case GP_FIELD_OPTIMIZER:
    case GP_FIELD_SEQ_LEN:
    case GP_FIELD_MICRO_BATCH:
    case GP_FIELD_LORA_RANK:
    case GP_FIELD_WEIGHTS:
    case GP_FIELD_CONCURRENCY:
        return true;
    case GP_FIELD_LOSS:
    case GP_FIELD_ENGINE:
        return !textbook;
    case GP_FIELD_QUANT:
        return gp_task_of(job) == GP_QLORA;
    case GP_FIELD_PER_NODE:
        return gp_whole(job, GP_FIELD_COUNT) > 1;
    case GP_FIELD_TEXTBOOK_ACTIVATION:
        return textbook;
    default:
        return false;
    }
}

/* Given values without effect on any plan of this version. */
static bool is_never_modelled(gp_field field) {
    return field == GP_FIELD_PACKED || field == GP_FIELD_LORA_ALPHA || field == GP_FIELD_LORA_TRAINABLE;
}

/* The textbook ledger knows parameters, tokens and degrees, and nothing of kernels and engines. */
static bool is_beyond_textbook(gp_field field) {
    switch (field) {
    case GP_FIELD_FRAMEWORK:
    case GP_FIELD_ATTENTION:
    case GP_FIELD_LOSS:
    case GP_FIELD_MTP_LAYERS:
    case GP_FIELD_LOSS_IMPL:
    case GP_FIELD_LOGITS_UPCAST:
    case GP_FIELD_RECOMPUTE_DETAIL:
    case GP_FIELD_SEQUENCE_PARALLEL:
    case GP_FIELD_DROPOUT:
    case GP_FIELD_DROPOUT_KERNEL:
    case GP_FIELD_AUTOCAST:
    case GP_FIELD_FOREACH:
    case GP_FIELD_STEP_IN_BACKWARD:
    case GP_FIELD_RMSNORM_SAVES_INPUT:
    case GP_FIELD_LORA_DTYPE:
    case GP_FIELD_LORA_DROPOUT:
    case GP_FIELD_LORA_KIND:
    case GP_FIELD_COMPILE:
    case GP_FIELD_ENGINE_VERSION:
    case GP_FIELD_GPU_LAYERS:
    case GP_FIELD_ENGINE:
    case GP_FIELD_MEMORY_UTILIZATION:
    case GP_FIELD_MAX_NUM_SEQS:
    case GP_FIELD_MAX_BATCHED_TOKENS:
    case GP_FIELD_UBATCH:
    case GP_FIELD_BATCH_TOKENS:
    case GP_FIELD_FLASH_ATTENTION:
    case GP_FIELD_ENFORCE_EAGER:
    case GP_FIELD_KV_UNIFIED:
    case GP_FIELD_OUTPUTS_MAX:
    case GP_FIELD_SWA_FULL:
    case GP_FIELD_DCP:
        return true;
    default:
        return false;
    }
}

/* A stated sum of state bytes takes the place of what they are made of. */
static bool is_part_of_state(gp_field field) {
    return field == GP_FIELD_PRECISION || field == GP_FIELD_TRAIN_WEIGHTS || field == GP_FIELD_MASTER_WEIGHTS ||
           field == GP_FIELD_GRAD_DTYPE || field == GP_FIELD_OPTIMIZER;
}

/* Formats of matrix products, below 16 bits, are the only precisions that leave the course's state as it is. */
static bool has_textbook_effect(const gp_job *job, gp_field field) {
    if (is_beyond_textbook(field)) return false;
    if (gp_known(job, GP_FIELD_TEXTBOOK_STATE) && is_part_of_state(field)) return false;
    bool products_only = gp_choice_is(job, GP_FIELD_PRECISION, "fp8") || gp_choice_is(job, GP_FIELD_PRECISION, "mxfp8") ||
                         gp_choice_is(job, GP_FIELD_PRECISION, "nvfp4");
    return field != GP_FIELD_PRECISION || !products_only;
}

/* Chunks of a pipeline stage without a pipeline, and the type of weights that come in a packed format. */
static bool has_no_object(const gp_job *job, gp_field field) {
    if (field == GP_FIELD_VPP) return gp_known(job, GP_FIELD_PP) && gp_whole(job, GP_FIELD_PP) == 1;
    return field == GP_FIELD_TRAIN_WEIGHTS && gp_task_of(job) == GP_QLORA;
}

/* Links set the time of all-reduces, which serving has where GPUs share a layer. */
static bool joins_gpus(const gp_job *job) {
    const char *name = job->settings[GP_FIELD_INTERCONNECT].text;
    return !gp_is_training(job) && gp_whole(job, GP_FIELD_COUNT) > 1 && name != NULL && gp_catalog_find_link(name) != NULL;
}

static bool is_of_task(const gp_job *job, gp_field field) {
    return (gp_field_info(field)->tasks & (1 << gp_task_of(job))) != 0;
}

static bool has_effect(const gp_job *job, gp_field field) {
    const gp_field_row *row = gp_field_info(field);
    bool textbook = gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_TEXTBOOK);
    if (!is_of_task(job, field) || is_never_modelled(field)) return false;
    if (field == GP_FIELD_INTERCONNECT && (textbook || !joins_gpus(job))) return false;
    if (field == GP_FIELD_MEMORY_UTILIZATION && !gp_engine_takes_share(job)) return false;
    if (has_no_object(job, field) || (textbook && !has_textbook_effect(job, field))) return false;
    /* An open list holds the choices that are modelled; formats have their own check, and words are read in training. */
    bool read = field == GP_FIELD_KV || field == GP_FIELD_OFFLOAD || field == GP_FIELD_LOSS || field == GP_FIELD_PP_LAYERS;
    if (row->kind == GP_KIND_OPEN && !read && gp_whole(job, field) < 0) return false;
    bool textbook_only = field == GP_FIELD_TEXTBOOK_ACTIVATION || field == GP_FIELD_TEXTBOOK_STATE ||
                         field == GP_FIELD_TEXTBOOK_HELD_BACK || field == GP_FIELD_TEXTBOOK_FLOPS;
    if (textbook_only && !textbook) return false;
    return field != GP_FIELD_TEXTBOOK_FLOPS || gp_is_training(job);
}

/* What a derived value follows from, as the path of a field or the name of a part of the plan. */
static const char *derived_from(const gp_job *job, gp_field field) {
    switch (field) {
    case GP_FIELD_PRECISION:
    case GP_FIELD_ATTENTION:
        return "hardware.gpu";
    case GP_FIELD_WEIGHTS:
        return gp_choice_is(job, field, "fp16") ? "hardware.gpu" : "model";
    case GP_FIELD_FRAMEWORK:
        return "task";
    case GP_FIELD_LOSS:
        return "train.framework";
    case GP_FIELD_TRAIN_WEIGHTS:
    case GP_FIELD_MASTER_WEIGHTS:
    case GP_FIELD_GRAD_DTYPE:
        return gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_TEXTBOOK) ? "ledger" : "train.framework";
    case GP_FIELD_CONTEXT:
        return "infer.prompt";
    case GP_FIELD_KV:
    case GP_FIELD_MEMORY_UTILIZATION:
        return "infer.engine";
    case GP_FIELD_SEQUENCE_PARALLEL:
        return "train.tp";
    case GP_FIELD_ZERO:
        return gp_origin_of(job, GP_FIELD_FSDP) == GP_GIVEN ? "train.fsdp" : "train.offload";
    case GP_FIELD_COUNT:
        return gp_is_training(job) ? "train.dp" : "infer.dp";
    case GP_FIELD_GRAD_ACCUM:
        return gp_origin_of(job, GP_FIELD_GLOBAL_BATCH) == GP_GIVEN ? "train.global_batch" : "train.micro_batch";
    case GP_FIELD_GLOBAL_BATCH:
        return "train.micro_batch";
    default:
        return "hardware.count";
    }
}

static gp_diagnostic *note(gp_plan *plan, gp_code code, gp_field field) {
    char value[GP_TEXT_BYTES];
    gp_setting_text(&plan->job, field, value, sizeof value);
    gp_diagnostic *row = gp_diagnose(&plan->diagnostics, code, gp_field_info(field)->path);
    gp_argue_text(row, "value", value);
    return row;
}

static bool derived_matters(const gp_job *job, gp_field field) {
    bool single = field == GP_FIELD_TP || field == GP_FIELD_PP || field == GP_FIELD_DP || field == GP_FIELD_INFER_TP ||
                  field == GP_FIELD_INFER_PP || field == GP_FIELD_INFER_DP || field == GP_FIELD_SEQUENCE_PARALLEL;
    if (single && gp_whole(job, GP_FIELD_COUNT) == 1) return false;
    return gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_DETAILED) || !is_beyond_textbook(field);
}

static bool uses_host(const gp_plan *plan) {
    bool uses = plan->device.is_host;
    for (int64_t i = 0; i < plan->stage_count; i++) uses = uses || plan->stages[i].host_bytes > 0;
    return uses;
}

/* Settings with nothing to act on in this plan. */
static bool lacks_object(const gp_plan *plan, gp_field field) {
    if (!gp_is_training(&plan->job)) return gp_assume_lacks_object(plan, field);
    if (field == GP_FIELD_HOST_RAM) return !uses_host(plan);
    return field == GP_FIELD_EP && plan->model.shape.experts.count == 0;
}

static bool reads_training(const gp_job *job) {
    return gp_is_training(job) && gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_DETAILED);
}

static void note_field(gp_plan *plan, gp_field field) {
    const gp_job *job = &plan->job;
    gp_origin origin = gp_origin_of(job, field);
    if (origin == GP_GIVEN) {
        if (!has_effect(job, field) || lacks_object(plan, field) || (reads_training(job) && !gp_assume_training(plan, field)))
            note(plan, GP_CODE_NOT_MODELLED, field);
        return;
    }
    if (!is_of_task(job, field)) return;
    if (origin == GP_DEFAULT && default_matters(job, field)) note(plan, GP_CODE_DEFAULT_VALUE, field);
    if (origin == GP_SOLVED) note(plan, GP_CODE_SOLVED_VALUE, field);
    if (origin == GP_DERIVED && derived_matters(job, field))
        gp_argue_text(note(plan, GP_CODE_DERIVED_VALUE, field), "from", derived_from(job, field));
}

/* Of a fused kernel, and of a framework with layers of its own, it is not the model's code that decides. */
static void note_layers(gp_plan *plan) {
    const gp_recipe *recipe = &plan->layout.recipe;
    bool detailed = gp_is_choice(&plan->job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_DETAILED);
    if (!gp_is_training(&plan->job) || !detailed || gp_layers_are_known(&plan->model)) return;
    if (recipe->kernels != GP_KERNELS_EAGER || !recipe->framework->hugging_face) return;
    gp_argue_text(gp_diagnose(&plan->diagnostics, GP_CODE_LAYERS_ASSUMED, "model"), "value", plan->model.shape.model_type);
}

void gp_assume(gp_plan *plan) {
    for (int field = 0; field < GP_FIELD_TOTAL; field++) note_field(plan, (gp_field)field);
    if (!gp_is_training(&plan->job) && plan->layout.dcp > 1)
        gp_argue_number(gp_diagnose(&plan->diagnostics, GP_CODE_DCP_NOT_MEASURED, "infer.dcp"), "dcp", (double)plan->layout.dcp);
    note_layers(plan);
    if (gp_is_adapter(&plan->job) && plan->job.lora_targets == 0)
        gp_argue_text(gp_diagnose(&plan->diagnostics, GP_CODE_DEFAULT_VALUE, "train.lora.targets"), "value",
                      "all-linear");
    if (plan->job.tensor_types_given)
        gp_argue_text(gp_diagnose(&plan->diagnostics, GP_CODE_NOT_MODELLED, "infer.tensor_types"), "value", "");
}
