/* assume_serving.c: settings of serving that a job states and that have nothing to act on: those of another kind of engine,
 * of experts, windows or a host's share where there are none, and of targets for a time that is not known. */
#include "plan/assume.h"

#include <string.h>

static bool is_engine(const gp_plan *plan, int64_t choice) { return gp_is_choice(&plan->job, GP_FIELD_ENGINE, choice); }

/* Versions by which the engine is told from others of its name; a version that says nothing to the planner, or one of an
 * engine of which only one is known, is that of today. */
static bool version_is_known(const gp_plan *plan) {
    const gp_recipe *recipe = &plan->layout.recipe;
    if (recipe->engine == GP_ENGINE_LLAMA_CPP) {
        const char *version = plan->job.settings[GP_FIELD_ENGINE_VERSION].text;
        bool build = version != NULL && version[0] == 'b' && version[1] >= '0' && version[1] <= '9';
        return build || recipe->cache_after_layers;
    }
    return recipe->release >= 0;
}

static bool has_windows(const gp_plan *plan) {
    for (int i = 0; i < plan->model.kind_count; i++)
        if (plan->model.kinds[i].window > 0) return !plan->layout.recipe.ignores_windows;
    return false;
}

/* Layers or experts of llama.cpp and its kin that are left to the host. */
static bool host_takes_part(const gp_plan *plan) {
    const gp_recipe *recipe = &plan->layout.recipe;
    if (recipe->engine != GP_ENGINE_LLAMA_CPP || recipe->on_host) return false;
    bool some = gp_known(&plan->job, GP_FIELD_GPU_LAYERS) && gp_whole(&plan->job, GP_FIELD_GPU_LAYERS) <= plan->model.shape.layers;
    return recipe->host_expert_layers > 0 || some;
}

/* A context that is stated, too, and is another. */
static bool context_is_another(const gp_plan *plan) {
    const gp_job *job = &plan->job;
    if (gp_origin_of(job, GP_FIELD_CONTEXT) == GP_DERIVED) return false;
    bool shared = plan->layout.recipe.engine == GP_ENGINE_LLAMA_CPP && gp_known(job, GP_FIELD_SEQUENCES);
    double sequences = shared ? (double)gp_whole(job, GP_FIELD_SEQUENCES) : 1;
    return sequences * (double)gp_whole(job, GP_FIELD_CONTEXT_PER_SEQUENCE) != (double)gp_whole(job, GP_FIELD_CONTEXT);
}

bool gp_assume_lacks_object(const gp_plan *plan, gp_field field) {
    const gp_recipe *recipe = &plan->layout.recipe;
    bool experts = plan->model.shape.experts.count > 0, llama = recipe->engine == GP_ENGINE_LLAMA_CPP;
    switch (field) {
    case GP_FIELD_SEQUENCES:
    case GP_FIELD_KV_UNIFIED:
    case GP_FIELD_OUTPUTS_MAX:
    case GP_FIELD_UBATCH:
    case GP_FIELD_BATCH_TOKENS:
        return !llama;
    case GP_FIELD_FLASH_ATTENTION:
        return !llama && !is_engine(plan, GP_CHOICE_ENGINE_TRANSFORMERS);
    case GP_FIELD_GPU_LAYERS:
        return !llama || recipe->on_host;
    case GP_FIELD_SWA_FULL:
        return !llama || !has_windows(plan);
    case GP_FIELD_OVERRIDE_TENSORS:
        return !recipe->placed_by_rules;
    case GP_FIELD_EXPERTS_ON_HOST:
    case GP_FIELD_HOST_EXPERT_LAYERS:
        return !llama || !experts || recipe->on_host || recipe->unified_memory || recipe->placed_by_rules;
    case GP_FIELD_HOST_BANDWIDTH:
        return !host_takes_part(plan);
    case GP_FIELD_MAX_NUM_SEQS:
    case GP_FIELD_MAX_BATCHED_TOKENS:
        return recipe->engine != GP_ENGINE_PAGED;
    case GP_FIELD_ENFORCE_EAGER: /* of TensorRT-LLM's graphs nothing is known apart, LMDeploy has none */
        return recipe->engine != GP_ENGINE_PAGED || is_engine(plan, GP_CHOICE_ENGINE_TENSORRT_LLM) ||
               is_engine(plan, GP_CHOICE_ENGINE_LMDEPLOY);
    case GP_FIELD_INFER_EP: /* experts take as much of each GPU however they are shared out */
        return !experts || gp_whole(&plan->job, field) != 1;
    case GP_FIELD_ENGINE_VERSION:
        return !version_is_known(plan);
    case GP_FIELD_DCP:
        return gp_whole(&plan->job, field) > plan->layout.dcp;
    case GP_FIELD_CONTEXT_PER_SEQUENCE:
        return context_is_another(plan);
    case GP_FIELD_DRAFT_ACCEPTANCE:
        return !gp_known(&plan->job, GP_FIELD_DRAFT_TOKENS);
    case GP_FIELD_PREFIX_HITS:
    case GP_FIELD_TTFT_TARGET:
        return !(plan->serving.ttft_s.value > 0);
    case GP_FIELD_TPOT_TARGET:
        return !(plan->serving.tpot_s.value > 0);
    case GP_FIELD_INTERCONNECT:
        return plan->layout.tp == 1;
    default:
        return false;
    }
}
