#include "advise/advise.h"
#include "ledger/states.h"
#include "plan/derive.h"

uint64_t gp_advise_state_bytes(const gp_stage_ledger *stage) {
    return gp_plan_most_bytes(stage, (2u << GP_ITEM_ADAPTER) - 1);
}

gp_verdict gp_advise_verdict(gp_plan *plan, const gp_job *changed, gp_layout *layout) {
    gp_peak peak;
    return gp_plan_try(plan, changed, &plan->model, layout, &peak);
}

void gp_advise_with_zero(const gp_plan *plan, int zero, gp_job *changed) {
    *changed = plan->job;
    gp_set_whole(changed, GP_FIELD_ZERO, zero, GP_SOLVED);
}

static gp_diagnostic *warn(gp_plan *plan, gp_code code, const char *path) {
    return gp_diagnose(&plan->diagnostics, code, path);
}

static bool is_given(const gp_plan *plan, gp_field field) { return gp_origin_of(&plan->job, field) == GP_GIVEN; }

static void warn_of_splits(gp_plan *plan) {
    const gp_layout *layout = &plan->layout;
    bool train = gp_is_training(&plan->job);
    if (layout->tp > layout->per_node) {
        gp_diagnostic *row = warn(plan, GP_CODE_TP_ACROSS_NODES, train ? "train.tp" : "infer.tp");
        gp_argue_number(row, "tp", (double)layout->tp);
        gp_argue_number(row, "per_node", (double)layout->per_node);
    }
    if (plan->model.shape.layers % layout->pp != 0) {
        gp_diagnostic *row = warn(plan, GP_CODE_UNEVEN_STAGES, train ? "train.pp" : "infer.pp");
        gp_argue_number(row, "layers", (double)plan->model.shape.layers);
        gp_argue_number(row, "pp", (double)layout->pp);
    }
}

/* The model whole on each GPU. */
static void unsplit(const gp_plan *plan, gp_job *changed) {
    *changed = plan->job;
    gp_set_whole(changed, GP_FIELD_TP, 1, GP_SOLVED);
    gp_set_whole(changed, GP_FIELD_PP, 1, GP_SOLVED);
    gp_set_whole(changed, GP_FIELD_VPP, 1, GP_SOLVED);
    gp_set_whole(changed, GP_FIELD_SEQUENCE_PARALLEL, 0, GP_SOLVED);
    changed->settings[GP_FIELD_DP].origin = GP_AUTO;
    changed->settings[GP_FIELD_GLOBAL_BATCH].origin = GP_AUTO;
}

/* The course's first mistake: a giant run's layout copied to a small one. */
static void warn_of_needless_split(gp_plan *plan) {
    bool given = is_given(plan, GP_FIELD_TP) || is_given(plan, GP_FIELD_PP);
    if (!given || plan->layout.tp * plan->layout.pp == 1) return;
    gp_job whole;
    gp_layout layout;
    unsplit(plan, &whole);
    if (gp_advise_verdict(plan, &whole, &layout) != GP_FITS) return;
    gp_diagnostic *row = warn(plan, GP_CODE_SPLIT_NOT_NEEDED, is_given(plan, GP_FIELD_TP) ? "train.tp" : "train.pp");
    gp_argue_number(row, "tp", (double)plan->layout.tp);
    gp_argue_number(row, "pp", (double)plan->layout.pp);
}

/* Its third: ZeRO-3 before it is needed. */
static void warn_of_needless_sharding(gp_plan *plan) {
    if (plan->layout.zero < 3 || plan->layout.dp == 1 || !is_given(plan, GP_FIELD_ZERO)) return;
    for (int zero = 0; zero < 3; zero++) {
        gp_job smaller;
        gp_layout layout;
        gp_advise_with_zero(plan, zero, &smaller);
        if (gp_advise_verdict(plan, &smaller, &layout) != GP_FITS) continue;
        gp_argue_number(warn(plan, GP_CODE_ZERO3_BEFORE_NEEDED, "train.zero"), "zero", zero);
        return;
    }
}

static void warn_of_adapters(gp_plan *plan) {
    const gp_layout *layout = &plan->layout;
    if (layout->dp > 1 && (layout->zero == 1 || layout->zero == 2))
        gp_argue_number(warn(plan, GP_CODE_FROZEN_NOT_SHARDED, "train.zero"), "zero", layout->zero);
    if (layout->dp > 1 && layout->zero == 3 && gp_task_of(&plan->job) == GP_QLORA)
        warn(plan, GP_CODE_ZERO3_NF4_NOT_SHARDED, "train.zero");
    const gp_stage_ledger *stage = &plan->stages[plan->peak.stage];
    uint64_t adapter = gp_plan_item_bytes(stage, GP_ITEM_ADAPTER, stage->peak_phase);
    bool small = adapter < stage->peak_bytes / 20;
    if (plan->verdict == GP_FITS || !small) return;
    gp_diagnostic *row = warn(plan, GP_CODE_RANK_NOT_A_MEMORY_KNOB, "train.lora.rank");
    gp_argue_number(row, "adapter_bytes", (double)adapter);
    gp_argue_number(row, "peak_bytes", (double)stage->peak_bytes);
}

/* Engines cut or shift what is longer than a sequence may be; measured runs did so. */
static void warn_of_prompt(gp_plan *plan, int64_t context) {
    double prompt = (double)gp_whole(&plan->job, GP_FIELD_PROMPT), output = (double)gp_whole(&plan->job, GP_FIELD_OUTPUT);
    bool given = is_given(plan, GP_FIELD_PROMPT) || is_given(plan, GP_FIELD_OUTPUT);
    if (!given || prompt + output <= (double)context) return;
    gp_diagnostic *row = warn(plan, GP_CODE_PROMPT_BEYOND_CONTEXT, "infer.context");
    gp_argue_number(row, "prompt", prompt);
    gp_argue_number(row, "output", output);
    gp_argue_number(row, "context", (double)context);
}

static void warn_of_length(gp_plan *plan) {
    bool train = gp_is_training(&plan->job);
    gp_field field = train ? GP_FIELD_SEQ_LEN : GP_FIELD_CONTEXT;
    int64_t length = gp_whole(&plan->job, field);
    const gp_shape *shape = &plan->model.shape;
    /* llama.cpp's context is the total over its sequences. */
    bool total = plan->layout.recipe.engine == GP_ENGINE_LLAMA_CPP;
    if (!train && total && gp_known(&plan->job, GP_FIELD_SEQUENCES)) length /= gp_whole(&plan->job, GP_FIELD_SEQUENCES);
    const char *path = gp_field_info(field)->path;
    if (shape->max_context > 0 && length > shape->max_context) {
        gp_diagnostic *row = warn(plan, GP_CODE_CONTEXT_BEYOND_MODEL, path);
        gp_argue_number(row, "value", (double)length);
        gp_argue_number(row, "max", (double)shape->max_context);
    }
    if (!train) warn_of_prompt(plan, length);
    bool whole = !train && gp_choice_is(&plan->job, GP_FIELD_LEDGER, "textbook");
    if (whole && shape->sliding_window > 0 && length > shape->sliding_window)
        gp_argue_number(warn(plan, GP_CODE_WINDOW_IGNORED, path), "window", (double)shape->sliding_window);
}

static void warn_of_host_memory(gp_plan *plan) {
    if (!gp_known(&plan->job, GP_FIELD_HOST_RAM) || plan->device.is_host) return;
    double node = (double)gp_plan_host_bytes(plan);
    double host_ram = gp_real(&plan->job, GP_FIELD_HOST_RAM) * (double)GP_GIB;
    if (node <= host_ram) return;
    gp_diagnostic *row = warn(plan, GP_CODE_HOST_MEMORY_EXCEEDED, "hardware.host_ram_gib");
    gp_argue_number(row, "host_bytes", node);
    gp_argue_number(row, "host_ram_bytes", host_ram);
}

static void warn_of_memory(gp_plan *plan) {
    const gp_stage_ledger *stage = &plan->stages[plan->peak.stage];
    uint64_t usable = plan->device.usable_bytes;
    if (plan->verdict != GP_NO && plan->peak.bytes > usable - usable / 10) {
        gp_diagnostic *row = warn(plan, GP_CODE_NO_HEADROOM, "");
        gp_argue_number(row, "peak_bytes", (double)plan->peak.bytes);
        gp_argue_number(row, "usable_bytes", (double)usable);
    }
    uint64_t logits = gp_plan_item_bytes(stage, GP_ITEM_LOGITS, stage->peak_phase);
    if (logits <= stage->peak_bytes / 3) return;
    gp_diagnostic *row = warn(plan, GP_CODE_LOGITS_DOMINATE, "train.loss");
    gp_argue_number(row, "logits_bytes", (double)logits);
    gp_argue_number(row, "peak_bytes", (double)stage->peak_bytes);
}

/* vLLM since release 0.18 captures no graphs, and does not start, when it prepares for more sequences than the cache of a
 * hybrid has pages (pull request 38270). */
static void warn_of_states(gp_plan *plan) {
    const int refuses = 18;
    const gp_layout *layout = &plan->layout;
    const gp_recipe *recipe = &layout->recipe;
    bool eager = gp_known(&plan->job, GP_FIELD_ENFORCE_EAGER) && gp_whole(&plan->job, GP_FIELD_ENFORCE_EAGER) != 0;
    if (plan->verdict == GP_NO || eager || layout->pp > 1 || (recipe->release >= 0 && recipe->release < refuses)) return;
    gp_cache cache;
    gp_states states;
    gp_cache_of_rank(&plan->model, layout, 0, plan->model.shape.layers, &cache);
    gp_states_of(&plan->job, &plan->model, layout, &cache, &states);
    if (!(states.page_bytes > 0) || plan->kv.max_tokens == 0) return;
    double state = (double)gp_plan_item_bytes(&plan->stages[0], GP_ITEM_RECURRENT_STATE, GP_PHASE_DECODE);
    double pool = (double)plan->kv.pool_bytes / (double)layout->gpus + state;
    double pages = (double)(uint64_t)(pool / (states.page_bytes * states.group));
    if (recipe->prepared_sequences <= pages) return;
    gp_diagnostic *row = warn(plan, GP_CODE_STATES_NOT_ENOUGH, "infer.max_num_seqs");
    gp_argue_number(row, "max_num_seqs", recipe->prepared_sequences);
    gp_argue_number(row, "pages", pages);
}

/* Parameters and caches of compressed attention are known; what engines work with beside them, and how fast they are, has
 * not been measured. */
static void warn_of_estimates(gp_plan *plan) {
    const gp_shape *shape = &plan->model.shape;
    if (shape->kinds[0].attention != GP_ATTENTION_COMPRESSED) return;
    gp_argue_text(warn(plan, GP_CODE_NOT_MEASURED, "model"), "value", shape->model_type);
}

void gp_advise_warnings(gp_plan *plan) {
    warn_of_estimates(plan);
    warn_of_memory(plan);
    warn_of_host_memory(plan);
    warn_of_splits(plan);
    warn_of_length(plan);
    if (!gp_is_training(&plan->job)) {
        warn_of_states(plan);
        return;
    }
    if (gp_device_is_measured(&plan->device)) {
        warn_of_needless_split(plan);
        warn_of_needless_sharding(plan);
    }
    if (gp_is_adapter(&plan->job)) warn_of_adapters(plan);
    if (gp_choice_is(&plan->job, GP_FIELD_PRECISION, "fp16")) warn(plan, GP_CODE_FP16_OVERFLOW, "train.precision");
}
