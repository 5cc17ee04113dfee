#include <math.h>
#include <string.h>

#include "layout/cache.h"
#include "plan/derive.h"
#include "advise/knobs.h"
#include "base/decimal.h"

static bool is_llama_cpp(const gp_draft *draft) {
    return draft->plan->layout.recipe.engine == GP_ENGINE_LLAMA_CPP;
}

static bool cache_8bit(gp_draft *draft) {
    if (draft->plan->layout.recipe.kv_bits <= 9) return false;
    return gp_draft_choice(draft, GP_FIELD_KV, is_llama_cpp(draft) ? "q8_0" : "fp8");
}

/* A stated average of bits would outlive the name of the format. */
static bool set_weights(gp_draft *draft, const char *format) {
    if (gp_known(&draft->plan->job, GP_FIELD_WEIGHT_BITS)) return false;
    draft->job.settings[GP_FIELD_WEIGHTS].text = format;
    draft->job.settings[GP_FIELD_WEIGHTS].origin = GP_GIVEN;
    gp_change *change = &draft->knob->changes[draft->knob->change_count++];
    *change = (gp_change){.field = GP_FIELD_WEIGHTS};
    gp_setting_text(&draft->plan->job, GP_FIELD_WEIGHTS, change->from, sizeof change->from);
    gp_setting_text(&draft->job, GP_FIELD_WEIGHTS, change->to, sizeof change->to);
    return true;
}

static bool weights_8bit(gp_draft *draft) {
    if (draft->plan->layout.recipe.linear_bits <= 9) return false;
    bool fp8 = draft->plan->device.row != NULL && draft->plan->device.row->fp8;
    return set_weights(draft, is_llama_cpp(draft) ? "gguf:Q8_0" : fp8 ? "fp8" : "int8");
}

static bool weights_4bit(gp_draft *draft) {
    if (draft->plan->layout.recipe.linear_bits <= 5) return false;
    return set_weights(draft, is_llama_cpp(draft) ? "gguf:Q4_K_M" : "awq");
}

static bool scale(gp_draft *draft, gp_field field, int64_t factor, int64_t divisor, int64_t least) {
    int64_t value = gp_whole(&draft->plan->job, field) * factor / divisor;
    return value >= least && gp_draft_whole(draft, field, value);
}

static bool fewer_sequences(gp_draft *draft) { return scale(draft, GP_FIELD_CONCURRENCY, 1, 2, 1); }
static bool more_sequences(gp_draft *draft) { return scale(draft, GP_FIELD_CONCURRENCY, 2, 1, 1); }
static bool shorter_context(gp_draft *draft) { return scale(draft, GP_FIELD_CONTEXT, 1, 2, 128); }
static bool longer_context(gp_draft *draft) { return scale(draft, GP_FIELD_CONTEXT, 2, 1, 1); }

static bool tensor_parallel(gp_draft *draft) {
    const gp_layout *layout = &draft->plan->layout;
    if (is_llama_cpp(draft) || gp_origin_of(&draft->plan->job, GP_FIELD_INFER_DP) == GP_GIVEN) return false;
    if (layout->tp * 2 > layout->per_node || layout->gpus % (layout->tp * 2) != 0) return false;
    return gp_draft_whole(draft, GP_FIELD_INFER_TP, layout->tp * 2);
}

/* How many ranks of tensor parallelism hold the same cache, on average over the layers. */
static int64_t cache_copies(const gp_plan *plan) {
    gp_cache whole, share;
    gp_cache_of(&plan->model, 1, 0, plan->model.shape.layers, &whole);
    gp_cache_of(&plan->model, plan->layout.tp, 0, plan->model.shape.layers, &share);
    double bits = plan->layout.recipe.kv_bits, once = gp_cache_token_bytes(&whole, bits);
    return once > 0 ? (int64_t)(gp_cache_token_bytes(&share, bits) * (double)plan->layout.tp / once) : 1;
}

/* As many groups as there would be copies of the cache. vLLM makes them replicas of fewer ranks. */
static bool attention_dp(gp_draft *draft) {
    const gp_layout *layout = &draft->plan->layout;
    int64_t copies = cache_copies(draft->plan);
    bool replicas = gp_is_choice(&draft->plan->job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM);
    bool served = replicas || gp_is_choice(&draft->plan->job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_SGLANG) ||
                  gp_is_choice(&draft->plan->job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_TENSORRT_LLM);
    bool fixed = replicas && gp_origin_of(&draft->plan->job, GP_FIELD_INFER_DP) == GP_GIVEN;
    bool asked = layout->attention.groups > 1 || fixed;
    if (!served || asked || draft->plan->model.expert_params == 0 || copies <= 1 || layout->tp % copies != 0) return false;
    if (replicas && !gp_draft_whole(draft, GP_FIELD_INFER_TP, layout->tp / copies)) return false;
    return gp_draft_whole(draft, GP_FIELD_ATTENTION_DP, copies);
}

/* As many ranks as would hold copies share out the tokens of each sequence. */
static bool context_parallel(gp_draft *draft) {
    const gp_plan *plan = draft->plan;
    bool served = gp_is_choice(&plan->job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM) ||
                  gp_is_choice(&plan->job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_SGLANG);
    int64_t tp = plan->layout.attention.tp, most = gp_layout_most_dcp(&plan->job, &plan->model, tp);
    if (!served || plan->kv.bytes_per_token == 0 || most <= plan->layout.dcp || tp % most != 0) return false;
    return gp_draft_whole(draft, GP_FIELD_DCP, most);
}

/* Experts of an average layer that has some: their bytes, the layers before the first of them, and how many layers there are
 * for each. */
typedef struct { double bytes, before, stride; } expert_layers;

static expert_layers expert_layers_of(const gp_plan *plan) {
    const gp_model *model = &plan->model;
    const gp_recipe *recipe = &plan->layout.recipe;
    double layers = (double)model->shape.layers, some = 0, experts = 0, matrices = 0;
    int64_t before = 0, looked = model->shape.layers < GP_MAPPED_LAYERS ? model->shape.layers : GP_MAPPED_LAYERS;
    while (before < looked && gp_model_layer(model, before)->expert_params == 0) before++;
    for (int i = 0; i < model->kind_count; i++) {
        double of_kind = (double)model->kind_layers[i];
        if (model->kinds[i].expert_params > 0) some += of_kind;
        experts += of_kind * (double)model->kinds[i].expert_params;
        matrices += of_kind * (double)model->kinds[i].linear_params;
    }
    double bytes = experts * recipe->linear_bits / 8;
    if (recipe->mix >= 0) bytes = (double)gp_recipe_file_layers(model, recipe, 0, model->shape.layers) * experts / matrices;
    return (expert_layers){bytes / some, (double)before, (layers - (double)before) / some};
}

static bool keeps_experts_apart(const gp_plan *plan) {
    const gp_recipe *recipe = &plan->layout.recipe;
    bool apart = recipe->engine == GP_ENGINE_LLAMA_CPP && plan->model.expert_params > 0;
    return apart && !recipe->placed_by_rules && !recipe->on_host && !recipe->unified_memory && gp_device_is_measured(&plan->device);
}

/* Leaves the experts of the first so many layers on the host, in place of those that the plan leaves there. */
static bool set_host_experts(gp_draft *draft, int64_t layers) {
    int64_t now = draft->plan->layout.recipe.host_expert_layers;
    if (layers == now || !gp_draft_whole(draft, GP_FIELD_HOST_EXPERT_LAYERS, layers)) return false;
    gp_decimal_write_whole(draft->knob->changes[draft->knob->change_count - 1].from, now);
    return true;
}

/* As few as make room for the rest, and one, since layers differ. Of several devices the first layers are on the first, so
 * all go. */
static bool experts_on_host(gp_draft *draft) {
    const gp_plan *plan = draft->plan;
    int64_t layers = plan->model.shape.layers, held = plan->layout.recipe.host_expert_layers;
    if (!keeps_experts_apart(plan) || plan->verdict == GP_FITS) return false;
    if (plan->layout.pp > 1) return set_host_experts(draft, layers);
    const expert_layers of = expert_layers_of(plan);
    double over = (double)plan->peak.high_bytes - (double)plan->device.usable_bytes;
    double wanted = fmax((double)held, of.before) + (ceil(over / of.bytes) + 1) * of.stride;
    return set_host_experts(draft, wanted < (double)layers ? (int64_t)wanted : layers);
}

/* As many as the room holds, but for one. */
static bool experts_on_device(gp_draft *draft) {
    const gp_plan *plan = draft->plan;
    double held = (double)plan->layout.recipe.host_expert_layers;
    if (!keeps_experts_apart(plan) || plan->layout.pp > 1 || !(held > 0)) return false;
    const expert_layers of = expert_layers_of(plan);
    double room = (double)plan->device.usable_bytes - (double)plan->peak.high_bytes;
    double more = floor(room / of.bytes) - 1, left = held - more * of.stride;
    if (more < 1) return false;
    return set_host_experts(draft, left > of.before ? (int64_t)ceil(left) : 0);
}

/* vLLM leaves a tenth of the device to others; where there are none, half of that will do. */
static bool memory_share(gp_draft *draft) {
    const double most = 0.95;
    const gp_job *job = &draft->plan->job;
    bool leaves = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM) && gp_known(job, GP_FIELD_MEMORY_UTILIZATION);
    if (!leaves || draft->plan->verdict == GP_FITS || gp_real(job, GP_FIELD_MEMORY_UTILIZATION) >= most) return false;
    return gp_draft_real(draft, GP_FIELD_MEMORY_UTILIZATION, most);
}

static const gp_knob_row rows[] = {
    {"memory_share",
     {GP_COST_NONE, 0, 0, "github.com/vllm-project/vllm vllm/config/cache.py (gpu_memory_utilization)"}, false, memory_share},
    {"tensor_parallel",
     {GP_COST_TIME, 0, 0, "Pope et al. 2022, arXiv:2211.05102, section 3"}, false, tensor_parallel},
    {"attention_dp", {GP_COST_TIME, 0, 0, "DeepSeek-AI 2024, arXiv:2412.19437, section 3.4"}, false, attention_dp},
    {"dcp", {GP_COST_TIME, 0, 0, "Bhatia et al. 2025, arXiv:2507.07120, section 2"}, false, context_parallel},
    {"experts_on_host", {GP_COST_TIME, 0, 0, "github.com/ggml-org/llama.cpp, pull request 15077 (--n-cpu-moe)"}, false,
     experts_on_host},
    {"cache_8bit", {GP_COST_QUALITY, 0, 0, "Sheng et al. 2023, arXiv:2303.06865, section 4"}, false, cache_8bit},
    {"weights_8bit", {GP_COST_QUALITY, 0, 0, "Dettmers et al. 2022, arXiv:2208.07339, section 3"}, false, weights_8bit},
    {"weights_4bit", {GP_COST_QUALITY, 0, 0, "Frantar et al. 2023, arXiv:2210.17323, section 4"}, false, weights_4bit},
    {"experts_on_device", {GP_COST_NONE, 0, 0, "github.com/ggml-org/llama.cpp, pull request 15077 (--n-cpu-moe)"}, true,
     experts_on_device},
    {"more_sequences", {GP_COST_CAPACITY, 2, 2, ""}, true, more_sequences},
    {"longer_context", {GP_COST_CAPACITY, 2, 2, ""}, true, longer_context},
    {"fewer_sequences", {GP_COST_CAPACITY, 0.5, 0.5, ""}, false, fewer_sequences},
    {"shorter_context", {GP_COST_CAPACITY, 0.5, 0.5, ""}, false, shorter_context},
    {"fewer_gpus", {GP_COST_HARDWARE, 0.5, 0.5, ""}, true, gp_knob_fewer_gpus},
    {"more_gpus", {GP_COST_HARDWARE, 2, 2, ""}, false, gp_knob_more_gpus},
    {"bigger_gpu", {GP_COST_HARDWARE, 1, 1, ""}, false, gp_knob_bigger_gpu},
    {NULL, {GP_COST_NONE, 0, 0, ""}, false, NULL},
};

const gp_knob_row *gp_knobs_inference(void) { return rows; }
