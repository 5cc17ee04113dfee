/* states.c: github.com/vllm-project/vllm vllm/platforms/interface.py (the page of an attention layer is made at least as
 * large as a state, in steps of 16 tokens, and the state is padded to it), v1/core/kv_cache_utils.py (layers of one kind
 * are cut into groups as large as the smallest kind, or as the largest where that is less than half as large again),
 * v1/kv_cache_interface.py (MambaSpec: one page for each sequence and group, two where prefixes are cached, one more for
 * each guessed token). Blocks that it prints: 528 tokens for Qwen3.5-4B, 672 for Nemotron-Nano-9B-v2, 8320 for Nemotron 3
 * Super with an fp8 cache. github.com/sgl-project/sglang srt/mem_cache/kv_cache_configurator.py: slots apart from the
 * cache, three for each running request with its radix cache. */
#include "ledger/states.h"

#include <math.h>

#include "layout/recipe_parts.h"

static bool is_vllm(const gp_job *job) { return gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM); }

/* vLLM keeps states in the model's 16 bits (mamba_ssm_cache_dtype "auto") unless the model asks for 32: Kimi's delta
 * attention by its code (mamba_utils.py: kda_state_dtype), Qwen3.5 and Nemotron 3 by their config.json (mamba_ssm_dtype,
 * mamba_ssm_cache_dtype). Others keep them in 32 bits (SGLang: mamba_ssm_dtype). */
static bool has_wide_states(const gp_job *job, const gp_model *model) {
    const char *type = model->shape.model_type != NULL ? model->shape.model_type : "";
    if (!is_vllm(job) || gp_begins_with(type, "qwen3_5") || gp_begins_with(type, "kimi")) return true;
    return gp_begins_with(type, "nemotron_h") && model->shape.experts.count > 0;
}

/* Since release 0.27 vLLM caches prefixes of hybrids unless told otherwise (pull request 50991). */
static double states_each(const gp_job *job, const gp_layout *layout) {
    const int caches_prefixes = 27;
    const double with_radix_cache = 3;
    double guessed = gp_known(job, GP_FIELD_DRAFT_TOKENS) ? (double)gp_whole(job, GP_FIELD_DRAFT_TOKENS) : 0;
    if (gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_SGLANG)) return with_radix_cache;
    if (!is_vllm(job)) return 1;
    bool prefixes = layout->recipe.release < 0 || layout->recipe.release >= caches_prefixes;
    return (prefixes ? 2 : 1) + guessed;
}

static double layers_of_group(const gp_cache *cache) {
    double least = (double)cache->recurrent_layers, most = least;
    for (int i = 0; i < cache->count; i++) {
        least = fmin(least, (double)cache->groups[i].layers);
        most = fmax(most, (double)cache->groups[i].layers);
    }
    return most < 1.5 * least ? most : least;
}

void gp_states_of(const gp_job *job, const gp_model *model, const gp_layout *layout, const gp_cache *cache, gp_states *states) {
    const double block = layout->recipe.block, narrow = 2, wide = 4;
    *states = (gp_states){.conv_bytes = narrow, .state_bytes = has_wide_states(job, model) ? wide : narrow, .each = 1};
    bool entries = cache->recurrent_layers == 0; /* what gathers tokens for an entry is in 32 bits */
    if (entries) states->state_bytes = wide;
    if (entries || !gp_cache_has_states(cache)) return;
    states->each = states_each(job, layout);
    if (cache->count == 0 || !is_vllm(job)) return;
    double layers = (double)cache->recurrent_layers;
    double state = (cache->conv_elements * states->conv_bytes + cache->state_elements * states->state_bytes) / layers;
    double token = (double)cache->groups[0].elements * layout->recipe.kv_bits / 8;
    states->page_tokens = fmax(1, ceil(state / (block * token))) * block;
    states->page_bytes = states->page_tokens * token;
    states->group = layers_of_group(cache);
}

gp_amount gp_states_amount(const gp_states *states, const gp_cache *cache, double sequences) {
    if (states->page_bytes > 0)
        return gp_recurrent_pages_amount((double)cache->recurrent_layers, states->group, sequences * states->each, states->page_bytes);
    return gp_recurrent_state_amount(cache, sequences, states->each, states->conv_bytes, states->state_bytes);
}
