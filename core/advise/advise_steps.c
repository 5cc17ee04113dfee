#include "advise/advise.h"
#include "plan/derive.h"

static gp_step *begin(gp_plan *plan, int index, const char *id) {
    gp_step *step = &plan->steps[index];
    *step = (gp_step){.id = id, .rule = "", .constraint = ""};
    return step;
}

static void number(gp_step *step, const char *name, double value) {
    if (step->number_count == GP_STEP_NUMBERS_MAX) return;
    step->numbers[step->number_count].name = name;
    step->numbers[step->number_count++].value = value;
}

static void text(gp_step *step, const gp_plan *plan, const char *name, gp_field field) {
    if (step->text_count == GP_STEP_TEXTS_MAX) return;
    step->texts[step->text_count].name = name;
    gp_setting_text(&plan->job, field, step->texts[step->text_count].value, sizeof step->texts[0].value);
    step->text_count++;
}

/* Ledger of a whole copy of the model on one GPU: what there is to store before anything is shared out. */
static void whole_copy(const gp_plan *plan, gp_stage_ledger *ledger) {
    gp_layout one = plan->layout;
    one.gpus = one.tp = one.pp = one.vpp = one.cp = one.dp = 1;
    one.attention = (gp_attention_groups){1, 1, 1, 1};
    one.zero = 0;
    gp_ledger_stage(&plan->job, &plan->model, &one, 0, ledger);
}

static uint64_t item(const gp_stage_ledger *stage, gp_item_id id) {
    uint64_t bytes = 0;
    for (int i = 0; i < stage->count; i++)
        if (stage->allocations[i].id == id) bytes = gp_add(bytes, stage->allocations[i].amount.bytes);
    return bytes;
}

/* Weights on the device: those in host memory, the token table under llama.cpp and experts, are in no phase. */
static uint64_t device_weights(const gp_stage_ledger *stage) { return gp_plan_item_bytes(stage, GP_ITEM_WEIGHTS, GP_PHASE_LOAD); }

static uint64_t all_weights(const gp_stage_ledger *stage) { return gp_add(device_weights(stage), stage->host_bytes); }

static uint64_t activations(const gp_stage_ledger *stage) {
    return gp_plan_most_bytes(stage, 1u << GP_ITEM_ACTIVATIONS | 1u << GP_ITEM_LOGITS);
}

static void memory_totals(const gp_plan *plan, gp_step *step) {
    number(step, "peak_bytes", (double)plan->peak.bytes);
    if (!gp_device_is_measured(&plan->device)) return;
    number(step, "usable_bytes", (double)plan->device.usable_bytes);
    number(step, "headroom_bytes", (double)plan->device.usable_bytes - (double)plan->peak.bytes);
}

static void step_memory(gp_plan *plan) {
    static const char *const training[] = {"headroom_kept", "headroom_short", "memory_exceeded"};
    static const char *const serving[] = {"serving_headroom_kept", "serving_headroom_short", "serving_memory_exceeded"};
    gp_step *step = begin(plan, 0, "memory");
    const gp_stage_ledger *stage = &plan->stages[plan->peak.stage];
    gp_stage_ledger whole;
    whole_copy(plan, &whole);
    bool train = gp_is_training(&plan->job);
    if (train) {
        number(step, "state_bytes", (double)gp_advise_state_bytes(&whole));
        number(step, "gpu_state_bytes", (double)gp_advise_state_bytes(stage));
        number(step, "activation_bytes", (double)activations(stage));
    } else {
        number(step, "weights_bytes", (double)all_weights(&whole));
        number(step, "gpu_weights_bytes", (double)device_weights(stage));
        number(step, "cache_bytes", (double)item(stage, GP_ITEM_KV_CACHE));
    }
    memory_totals(plan, step);
    step->rule = train ? training[plan->verdict] : serving[plan->verdict];
    if (!gp_device_is_measured(&plan->device)) step->rule = train ? "memory_unknown" : "serving_memory_unknown";
    if (plan->verdict == GP_FITS) return;
    if (train)
        step->constraint = gp_advise_state_bytes(stage) >= activations(stage) ? "state" : "activations";
    else
        step->constraint = device_weights(stage) >= item(stage, GP_ITEM_KV_CACHE) ? "weights" : "cache";
}

static const char *sharding_rule(const gp_plan *plan, bool smaller_fits) {
    static const char *const enough[] = {"sharding_not_needed", "zero1_enough", "zero2_enough", "zero3_needed"};
    int zero = plan->layout.zero;
    if (plan->layout.dp == 1) return "one_replica";
    if (plan->verdict == GP_NO) return zero == 0 ? "sharding_not_used" : "sharding_not_enough";
    return zero == 3 && smaller_fits ? "zero3_not_needed" : enough[zero];
}

static void step_sharding(gp_plan *plan) {
    static const char *const names[] = {"zero0_bytes", "zero1_bytes", "zero2_bytes", "zero3_bytes"};
    gp_step *step = begin(plan, 1, "sharding");
    const gp_layout *layout = &plan->layout;
    if (!gp_is_training(&plan->job)) {
        number(step, "dp", (double)layout->dp);
        step->rule = "no_training_state";
        return;
    }
    number(step, "zero", layout->zero);
    number(step, "dp", (double)layout->dp);
    bool smaller_fits = false;
    for (int zero = 0; zero <= (layout->dp > 1 ? 3 : 0); zero++) {
        gp_job changed;
        gp_layout other;
        gp_stage_ledger ledger;
        gp_advise_with_zero(plan, zero, &changed);
        gp_verdict verdict = gp_advise_verdict(plan, &changed, &other);
        gp_ledger_stage(&changed, &plan->model, &other, plan->peak.stage, &ledger);
        number(step, names[zero], (double)gp_advise_state_bytes(&ledger));
        smaller_fits = smaller_fits || (zero < layout->zero && verdict == GP_FITS);
    }
    step->rule = sharding_rule(plan, smaller_fits);
    bool frozen_whole = gp_is_adapter(&plan->job) && layout->dp > 1 && layout->zero > 0 && layout->zero < 3;
    if (frozen_whole)
        step->constraint = "frozen_weights";
    else if (gp_advise_state_bytes(&plan->stages[plan->peak.stage]) > plan->device.usable_bytes)
        step->constraint = "state";
}

static const char *split_rule(const gp_layout *layout) {
    if (layout->tp > 1 && layout->pp > 1) return "split_and_stages";
    if (layout->pp > 1) return "stages";
    if (layout->tp > layout->per_node) return "split_across_nodes";
    return layout->tp > 1 ? "split_in_node" : "layer_fits";
}

/* What a wider split would meet first. */
static const char *split_constraint(const gp_plan *plan) {
    const gp_layout *layout = &plan->layout;
    const gp_shape *shape = &plan->model.shape;
    if (layout->pp > 1 && layout->pp * 2 > shape->layers) return "layers";
    if (layout->tp == 1) return "";
    if (shape->heads % (layout->tp * 2) != 0) return "heads";
    if (layout->tp * 2 > shape->kv_heads) return "kv_heads";
    return layout->tp * 2 > layout->per_node ? "node" : "";
}

static void step_model_parallel(gp_plan *plan) {
    gp_step *step = begin(plan, 2, "model_parallel");
    const gp_layout *layout = &plan->layout;
    const gp_layer *layer = gp_model_layer(&plan->model, 0);
    uint64_t largest = 0;
    for (int i = 0; i < layer->matrix_count; i++) {
        uint64_t size = gp_mul((uint64_t)layer->matrices[i].inputs, (uint64_t)layer->matrices[i].outputs);
        if (size > largest) largest = size;
    }
    double bits = layout->recipe.linear_bits;
    number(step, "tp", (double)layout->tp);
    number(step, "pp", (double)layout->pp);
    number(step, "heads", (double)plan->model.shape.heads);
    number(step, "kv_heads", (double)plan->model.shape.kv_heads);
    number(step, "layers", (double)plan->model.shape.layers);
    number(step, "per_node", (double)layout->per_node);
    number(step, "layer_bytes", (double)gp_bytes_of(layer->linear_params, bits));
    number(step, "largest_matrix_bytes", (double)gp_bytes_of(largest, bits));
    step->rule = split_rule(layout);
    step->constraint = split_constraint(plan);
}

static void step_batch_training(gp_plan *plan, gp_step *step) {
    const gp_layout *layout = &plan->layout;
    number(step, "micro_batch", (double)layout->micro_batch);
    number(step, "grad_accum", (double)layout->grad_accum);
    number(step, "dp", (double)layout->dp);
    number(step, "global_batch", (double)layout->global_batch);
    number(step, "seq_len", (double)layout->seq_len);
    number(step, "tokens_per_step", (double)layout->global_batch * (double)layout->seq_len);
    step->rule = layout->grad_accum > 1 ? "accumulate" : "one_pass";
    gp_job doubled = plan->job;
    gp_layout other;
    gp_set_whole(&doubled, GP_FIELD_MICRO_BATCH, layout->micro_batch * 2, GP_SOLVED);
    doubled.settings[GP_FIELD_GLOBAL_BATCH].origin = GP_AUTO;
    bool batch_used_up = layout->grad_accum == 1 && gp_origin_of(&plan->job, GP_FIELD_GLOBAL_BATCH) == GP_GIVEN;
    if (gp_advise_verdict(plan, &doubled, &other) == GP_NO)
        step->constraint = "memory";
    else if (batch_used_up)
        step->constraint = "global_batch";
}

static void step_batch(gp_plan *plan) {
    gp_step *step = begin(plan, 3, "batch");
    if (gp_is_training(&plan->job)) {
        step_batch_training(plan, step);
        return;
    }
    number(step, "context", (double)gp_whole(&plan->job, GP_FIELD_CONTEXT));
    number(step, "concurrency", (double)gp_whole(&plan->job, GP_FIELD_CONCURRENCY));
    number(step, "cache_bytes", (double)plan->kv.bytes);
    if (!gp_device_is_measured(&plan->device)) {
        step->rule = "cache_size";
        return;
    }
    number(step, "max_context", (double)plan->kv.max_context);
    number(step, "max_concurrency", (double)plan->kv.max_concurrency);
    step->rule = plan->verdict == GP_NO ? "cache_exceeds" : "cache_fits";
    if (plan->verdict == GP_NO) step->constraint = "memory";
}

static void step_precision_training(gp_plan *plan, gp_step *step) {
    static const char *const choices[] = {"none", "selective", "full"};
    static const char *const names[] = {"none_bytes", "selective_bytes", "full_bytes"};
    text(step, plan, "precision", GP_FIELD_PRECISION);
    text(step, plan, "recompute", GP_FIELD_RECOMPUTE);
    text(step, plan, "attention", GP_FIELD_ATTENTION);
    for (int i = 0; i < 3; i++) {
        gp_job changed = plan->job;
        gp_stage_ledger ledger;
        gp_layout layout = plan->layout;
        gp_set_choice(&changed, GP_FIELD_RECOMPUTE, choices[i], GP_SOLVED);
        gp_recipe_build(&changed, &plan->model, &layout.recipe);
        gp_ledger_stage(&changed, &plan->model, &layout, plan->peak.stage, &ledger);
        number(step, names[i], (double)activations(&ledger));
    }
    bool full = gp_choice_is(&plan->job, GP_FIELD_RECOMPUTE, "full");
    bool none = gp_choice_is(&plan->job, GP_FIELD_RECOMPUTE, "none");
    step->rule = full ? "recompute_full" : "recompute_selective";
    bool known_to_fit = plan->verdict != GP_NO && gp_device_is_measured(&plan->device);
    if (none) step->rule = !known_to_fit ? "recompute_not_used" : "recompute_not_needed";
    const gp_gpu_row *row = plan->device.row;
    if (row != NULL && !row->flash_attention_2) step->constraint = "no_flash";
    if (row != NULL && !row->bf16) step->constraint = "no_bf16";
}

static void step_precision(gp_plan *plan) {
    gp_step *step = begin(plan, 4, "precision");
    if (gp_is_training(&plan->job)) {
        step_precision_training(plan, step);
        return;
    }
    text(step, plan, "weights", GP_FIELD_WEIGHTS);
    text(step, plan, "kv", GP_FIELD_KV);
    gp_stage_ledger whole;
    whole_copy(plan, &whole);
    number(step, "weights_bytes", (double)all_weights(&whole));
    number(step, "cache_bytes", (double)plan->kv.bytes);
    step->rule = plan->layout.recipe.linear_bits < 16 ? "weights_packed" : "weights_16bit";
}

void gp_advise_steps(gp_plan *plan) {
    step_memory(plan);
    step_sharding(plan);
    step_model_parallel(plan);
    step_batch(plan);
    step_precision(plan);
}
