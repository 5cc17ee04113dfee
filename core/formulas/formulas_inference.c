/* formulas_inference.c: the KV cache and what an engine works with. */
#include <math.h>
#include <stddef.h>

#include "formulas/formulas.h"
#include "base/quantity.h"

static const gp_formula kv_cache = GP_FORMULA(
    "kv_cache.blocks", "2 * layers * kv_heads * head_dim * sequences * ceil(context / block) * block * bits / 8",
    "Ainslie et al. 2023 (GQA), arXiv:2305.13245, section 2; Kwon et al. 2023 (PagedAttention), arXiv:2309.06180, "
    "section 4 (blocks of 16 tokens); github.com/ggml-org/llama.cpp src/llama-context.cpp (n_ctx padded to 256)");
static const gp_formula kv_cache_window = GP_FORMULA(
    "kv_cache.window",
    "2 * layers * kv_heads * head_dim * sequences * ceil(min(context, window) / block) * block * bits / 8",
    "Jiang et al. 2023 (Mistral 7B), arXiv:2310.06825, section 2: a rolling buffer of the tokens in view; "
    "github.com/ggml-org/llama.cpp src/llama-kv-cache-iswa.cpp: the window and one micro-batch, padded to 256");
static const gp_formula kv_cache_unlike = GP_FORMULA(
    "kv_cache.unlike",
    "layers * kv_heads * (head_dim + value_dim) * sequences * ceil(context / block) * block * bits / 8",
    "MiMo-V2-Flash, arXiv:2601.02780: keys of 192 and values of 128 for each head; blocks as in kv_cache.blocks");
static const gp_formula kv_cache_unlike_window = GP_FORMULA(
    "kv_cache.unlike_window",
    "layers * kv_heads * (head_dim + value_dim) * sequences * ceil(min(context, window) / block) * block * bits / 8",
    "MiMo-V2-Flash, arXiv:2601.02780: keys of 192 and values of 128 for each head; the window as in kv_cache.window");
static const gp_formula kv_cache_latent = GP_FORMULA(
    "kv_cache.latent", "layers * latent * sequences * ceil(context / block) * block * bits / 8",
    "DeepSeek-V2, arXiv:2405.04434, section 2.1.3: one latent and one rotary key per token, the same on every "
    "tensor-parallel rank");
#define SHARED_OUT "github.com/vllm-project/vllm docs/serving/context_parallel_deployment.md, docs.sglang.io, decode context " \
    "parallelism; Bhatia et al. 2025 (Helix), arXiv:2507.07120: token p of a sequence is kept by rank p mod dcp"
static const gp_formula kv_cache_shared = GP_FORMULA(
    "kv_cache.blocks_shared",
    "2 * layers * kv_heads * head_dim * sequences * ceil(ceil(context / dcp) / block) * block * bits / 8", SHARED_OUT);
static const gp_formula kv_cache_unlike_shared = GP_FORMULA(
    "kv_cache.unlike_shared",
    "layers * kv_heads * (head_dim + value_dim) * sequences * ceil(ceil(context / dcp) / block) * block * bits / 8", SHARED_OUT);
static const gp_formula kv_cache_latent_shared = GP_FORMULA(
    "kv_cache.latent_shared", "layers * latent * sequences * ceil(ceil(context / dcp) / block) * block * bits / 8", SHARED_OUT);
static const gp_formula kv_cache_latent_packed = GP_FORMULA(
    "kv_cache.latent_packed", "layers * entry_bytes * sequences * ceil(ceil(context / dcp) / block) * block",
    "github.com/deepseek-ai/FlashMLA README: latents that an indexer chooses from take 656 bytes in fp8, 512 of them, an fp32 scale "
    "for 128 and the rotary 64 in 16 bits; github.com/vllm-project/vllm pull request 25988: vLLM's default");
#define DEEPSEEK_V4 "DeepSeek-V4 (github.com/ggml-org/llama.cpp src/llama-kv-cache-dsv4.cpp; github.com/sgl-project/sglang " \
    "mem_cache/deepseek_v4_memory_pool.py): "
static const gp_formula kv_cache_recent = GP_FORMULA(
    "kv_cache.recent", "layers * entry_bytes * sequences * ceil(min(context, window) / block) * block",
    DEEPSEEK_V4 "the last tokens one by one, in every layer");
static const gp_formula kv_cache_compressed = GP_FORMULA(
    "kv_cache.compressed", "layers * entry_bytes * sequences * ceil(ceil(context / block) * block / stride)",
    DEEPSEEK_V4 "one entry for every 4 or 128 tokens, by layer; one key for all heads, which is the value too; vLLM and "
    "SGLang take pages of 256 tokens, llama.cpp pads the entries to 256");
static gp_amount compressed_amount(const gp_cache_group *group, double sequences, double context, double block,
                                   double bits) {
    double layers = (double)group->layers, entry = gp_cache_entry_bytes(group, bits), stride = (double)group->stride;
    double window = (double)group->window;
    if (group->recent) {
        const gp_term terms[] = {{"layers", layers},   {"entry_bytes", entry}, {"sequences", sequences},
                                 {"context", context}, {"window", window},     {"block", block}};
        double cells = ceil(fmin(context, window) / block) * block;
        return GP_AMOUNT(kv_cache_recent, layers * entry * sequences * cells, terms);
    }
    const gp_term terms[] = {{"layers", layers},   {"entry_bytes", entry}, {"sequences", sequences},
                             {"context", context}, {"block", block},       {"stride", stride}};
    double entries = ceil(ceil(context / block) * block / stride);
    return GP_AMOUNT(kv_cache_compressed, layers * entry * sequences * entries, terms);
}

/* The last term of a cache's formula and what it makes of the formula: the tokens in view, or ranks that share them out. */
static gp_amount in_part(gp_amount amount, const gp_cache_group *group, double context, const gp_formula *window,
                         const gp_formula *shared) {
    bool limited = window != NULL && group->window > 0 && (double)group->window < context;
    if (!limited && group->shared == 1) return amount;
    amount.formula = limited ? window : shared;
    gp_amount_term(&amount, limited ? "window" : "dcp", (double)(limited ? group->window : group->shared));
    return amount;
}

gp_amount gp_kv_cache_amount(const gp_cache_group *group, double sequences, double context, double block, double bits) {
    double layers = (double)group->layers, heads = (double)group->kv_heads, width = (double)group->head_dim;
    double elements = (double)group->elements, window = (double)group->window;
    if (group->recent || group->stride > 1) return compressed_amount(group, sequences, context, block, bits);
    bool limited = group->window > 0 && window < context;
    double tokens = limited ? window : ceil(context / (double)group->shared);
    double cells = sequences * ceil(tokens / block) * block, bytes = layers * elements * cells * bits / 8;
    if (group->rotary > 0 && bits == 8) {
        double entry = gp_cache_entry_bytes(group, bits);
        const gp_term terms[] = {{"layers", layers},   {"entry_bytes", entry}, {"sequences", sequences},
                                 {"context", context}, {"block", block},       {"dcp", (double)group->shared}};
        return GP_AMOUNT(kv_cache_latent_packed, layers * entry * cells, terms);
    }
    if (group->kv_heads == 0) {
        const gp_term terms[] = {{"layers", layers},   {"latent", elements}, {"sequences", sequences},
                                 {"context", context}, {"block", block},     {"bits", bits}};
        return in_part(GP_AMOUNT(kv_cache_latent, bytes, terms), group, context, NULL, &kv_cache_latent_shared);
    }
    if (group->value_dim != group->head_dim) {
        const gp_term terms[] = {{"layers", layers},   {"kv_heads", heads}, {"head_dim", width}, {"value_dim", (double)group->value_dim},
                                 {"sequences", sequences}, {"context", context}, {"block", block}, {"bits", bits}};
        return in_part(GP_AMOUNT(kv_cache_unlike, bytes, terms), group, context, &kv_cache_unlike_window, &kv_cache_unlike_shared);
    }
    const gp_term terms[] = {{"layers", layers},   {"kv_heads", heads}, {"head_dim", width}, {"sequences", sequences},
                             {"context", context}, {"block", block},    {"bits", bits}};
    return in_part(GP_AMOUNT(kv_cache, bytes, terms), group, context, &kv_cache_window, &kv_cache_shared);
}

static const gp_formula window_pass = GP_FORMULA(
    "workspace.window_pass", "layers * elements * ceil(tokens / block) * block * bits / 8",
    "github.com/vllm-project/vllm vllm/v1/kv_cache_interface.py (SlidingWindowSpec): the tokens of a pass have places in the layers "
    "with a window, beside those in view, until the pass is done");
gp_amount gp_kv_pass_amount(const gp_cache_group *group, double tokens, double block, double bits) {
    double layers = (double)group->layers, elements = (double)group->elements;
    const gp_term terms[] = {{"layers", layers}, {"elements", elements}, {"tokens", tokens}, {"block", block}, {"bits", bits}};
    return GP_AMOUNT(window_pass, layers * elements * ceil(tokens / block) * block * bits / 8, terms);
}

static const gp_formula kv_cache_index = GP_FORMULA(
    "kv_cache.index", "layers * (index + 4 * ceil(index / 128)) * sequences * ceil(context / block) * block",
    "DeepSeek-V3.2, arXiv:2512.02556, section 2.1: one indexer key per token; github.com/vllm-project/vllm "
    "vllm/model_executor/models/deepseek_v2.py: fp8 with an fp32 scale for 128 values");
static const gp_formula kv_cache_index_shared = GP_FORMULA(
    "kv_cache.index_shared", "layers * (index + 4 * ceil(index / 128)) * sequences * ceil(ceil(context / dcp) / block) * block",
    SHARED_OUT);
static const gp_formula kv_cache_index_compressed = GP_FORMULA(
    "kv_cache.index_compressed",
    "layers * (index + 4 * ceil(index / 128)) * sequences * ceil(ceil(context / block) * block / stride)",
    DEEPSEEK_V4 "one indexer key for every 4 tokens, in fp8 with an fp32 scale for 128 values");
gp_amount gp_kv_index_amount(const gp_cache_group *group, double sequences, double context, double block) {
    double layers = (double)group->layers, index = (double)group->index, stride = (double)group->stride;
    const gp_term terms[] = {{"layers", layers},   {"index", index}, {"sequences", sequences},
                             {"context", context}, {"block", block}, {"stride", stride}};
    if (group->stride > 1) {
        double entries = sequences * ceil(ceil(context / block) * block / stride);
        return GP_AMOUNT(kv_cache_index_compressed, layers * gp_index_bytes(group->index) * entries, terms);
    }
    double shared = (double)group->index_shared, cells = sequences * ceil(ceil(context / shared) / block) * block;
    gp_amount amount = gp_amount_make(&kv_cache_index, layers * gp_index_bytes(group->index) * cells, 5, terms);
    if (group->index_shared == 1) return amount;
    amount.formula = &kv_cache_index_shared;
    gp_amount_term(&amount, "dcp", shared);
    return amount;
}

static const gp_formula recurrent_state = GP_FORMULA(
    "recurrent_state.per_sequence", "sequences * (conv_elements * conv_bytes + state_elements * state_bytes)",
    "Gu and Dao 2023 (Mamba), arXiv:2312.00752, section 3.4; Yang et al. 2024 (gated delta net), arXiv:2412.06464: the "
    "convolution's last inputs and the state of each layer, whatever the context; github.com/ggml-org/llama.cpp "
    "src/llama-memory-recurrent.cpp: both in fp32; DeepSeek-V4 (src/llama-kv-cache-dsv4.cpp): inputs and weights of the entry "
    "that is not full, in fp32");
static const gp_formula recurrent_slots = GP_FORMULA(
    "recurrent_state.slots", "sequences * slots * (conv_elements * conv_bytes + state_elements * state_bytes)",
    "github.com/sgl-project/sglang srt/mem_cache/kv_cache_configurator.py: three slots for each running request where prefixes "
    "are cached");
static const gp_formula recurrent_pages = GP_FORMULA(
    "recurrent_state.pages", "states * ceil(layers / group) * group * page_bytes",
    "github.com/vllm-project/vllm vllm/platforms/interface.py and v1/core/kv_cache_utils.py: in hybrids a page of the cache is "
    "made as large as a layer's state (in multiples of 16 tokens), a state takes one page, and recurrent layers come in groups "
    "as large as the smallest kind of layers");
gp_amount gp_recurrent_state_amount(const gp_cache *cache, double sequences, double each, double conv_bytes, double state_bytes) {
    const gp_term terms[] = {{"sequences", sequences},
                             {"conv_elements", cache->conv_elements},
                             {"conv_bytes", conv_bytes},
                             {"state_elements", cache->state_elements},
                             {"state_bytes", state_bytes},
                             {"slots", each}};
    double one = cache->conv_elements * conv_bytes + cache->state_elements * state_bytes;
    if (each > 1) return GP_AMOUNT(recurrent_slots, sequences * each * one, terms);
    return gp_amount_make(&recurrent_state, sequences * one, 5, terms);
}
gp_amount gp_recurrent_pages_amount(double layers, double group, double states, double page_bytes) {
    const gp_term terms[] = {{"states", states}, {"layers", layers}, {"group", group}, {"page_bytes", page_bytes}};
    return GP_AMOUNT(recurrent_pages, states * ceil(layers / group) * group * page_bytes, terms);
}

static const gp_formula pass_state = GP_FORMULA(
    "recurrent_state.pass", "tokens * (recent_bytes + gathered_elements * 4)",
    "github.com/vllm-project/vllm vllm/v1/kv_cache_interface.py (SlidingWindowSpec), issues 51041 and 54703: the tokens of a "
    "pass are in the windows of all layers, and in the fp32 inputs of their entries, before they leave them");
gp_amount gp_pass_state_amount(const gp_cache *cache, double tokens, double bits) {
    double recent = 0;
    for (int i = 0; i < cache->count; i++) {
        const gp_cache_group *group = &cache->groups[i];
        if (group->recent) recent += (double)group->layers * gp_cache_entry_bytes(group, bits);
    }
    const gp_term terms[] = {
        {"tokens", tokens}, {"recent_bytes", recent}, {"gathered_elements", cache->gathered_elements}};
    return GP_AMOUNT(pass_state, tokens * (recent + 4 * cache->gathered_elements), terms);
}

static const gp_formula workspace_paged = GP_FORMULA(
    "workspace.paged_engine", "max(tokens * 2 * 3 * (ffn + hidden), sequences * vocab * 40)",
    "github.com/vllm-project/vllm vllm/worker: one forward pass over max_num_batched_tokens is profiled, then the sampler "
    "over max_num_seqs rows of logits (38.2 bytes each in llm-d-planner's table of H100 start-ups)");
gp_amount gp_workspace_paged_amount(const gp_engine_widths *widths, double batched_tokens, double max_sequences) {
    const gp_term terms[] = {{"tokens", batched_tokens},
                             {"ffn", widths->ffn},
                             {"hidden", widths->hidden},
                             {"sequences", max_sequences},
                             {"vocab", widths->vocab}};
    double forward = batched_tokens * 2 * 3 * (widths->ffn + widths->hidden);
    return GP_AMOUNT(workspace_paged, fmax(forward, max_sequences * widths->vocab * 40), terms);
}

static const gp_formula workspace_transformers = GP_FORMULA(
    "workspace.transformers", "max(tokens * 2 * (3 * ffn + 4 * hidden), 2 * tokens * hidden + 6 * logit_tokens * vocab)",
    "github.com/huggingface/transformers: the feed-forward block of one layer; logits of the whole prompt (16 bits and an "
    "fp32 copy) before release 4.45, of the last token since");
gp_amount gp_workspace_transformers_amount(const gp_engine_widths *widths, double tokens, double logit_tokens) {
    const gp_term terms[] = {{"tokens", tokens},
                             {"ffn", widths->ffn},
                             {"hidden", widths->hidden},
                             {"logit_tokens", logit_tokens},
                             {"vocab", widths->vocab}};
    double forward = tokens * 2 * (3 * widths->ffn + 4 * widths->hidden);
    double logits = 2 * tokens * widths->hidden + 6 * logit_tokens * widths->vocab;
    return GP_AMOUNT(workspace_transformers, fmax(forward, logits), terms);
}

static const gp_formula workspace_eager = GP_FORMULA(
    "workspace.transformers_eager",
    "max(tokens * 2 * (3 * ffn + 4 * hidden), blocks * scores + 2 * logit_tokens * vocab * (2 * min(1, floor(2 * logit_tokens * vocab / "
    "scores)) + min(1, floor(logit_tokens * vocab / scores))))",
    "github.com/huggingface/transformers modeling_llama.py (eager attention): scores before and after scaling and mask, in 16 bits, "
    "cast to fp32 and their softmax in fp32; PyTorch's allocator (c10/cuda/CUDACachingAllocator.cpp) keeps the blocks, whose "
    "larger ones logits take where they fit");
gp_amount gp_workspace_eager_amount(const gp_engine_widths *widths, double blocks, double scores, double tokens,
                                    double logit_tokens) {
    double logits = 2 * logit_tokens * widths->vocab; /* 16 bits; twice as much in 32 */
    const gp_term terms[] = {{"tokens", tokens},
                             {"ffn", widths->ffn},
                             {"hidden", widths->hidden},
                             {"blocks", blocks},
                             {"scores", scores},
                             {"logit_tokens", logit_tokens},
                             {"vocab", widths->vocab}};
    double forward = tokens * 2 * (3 * widths->ffn + 4 * widths->hidden);
    double made = logits * (2 * fmin(1, floor(logits / scores)) + fmin(1, floor(logits / 2 / scores)));
    return GP_AMOUNT(workspace_eager, fmax(forward, blocks * scores + made), terms);
}

static const gp_formula rotary_tables = GP_FORMULA(
    "workspace.rotary_tables", "layers * positions * head_dim * 2 * element_bytes",
    "github.com/huggingface/transformers before release 4.45: every layer's attention keeps cosines and sines of all positions "
    "that the model was made for");
gp_amount gp_rotary_tables_amount(double layers, double positions, double head_dim, double element_bytes) {
    const gp_term terms[] = {
        {"layers", layers}, {"positions", positions}, {"head_dim", head_dim}, {"element_bytes", element_bytes}};
    return GP_AMOUNT(rotary_tables, layers * positions * head_dim * 2 * element_bytes, terms);
}

static const gp_formula former_step = GP_FORMULA(
    "workspace.former_step", "max(cache_bytes, 2 * prompt_cache_bytes + 4 * logit_tokens * vocab - cache_bytes)",
    "github.com/huggingface/transformers before release 4.42: a step makes the cache anew while the outputs of the one before "
    "are alive, its cache and fp32 logits; those of the prompt are alive while the first token is made");
gp_amount gp_former_step_amount(double prompt_cache, double cache, double logit_tokens, double vocab) {
    const gp_term terms[] = {
        {"cache_bytes", cache}, {"prompt_cache_bytes", prompt_cache}, {"logit_tokens", logit_tokens}, {"vocab", vocab}};
    return GP_AMOUNT(former_step, fmax(cache, 2 * prompt_cache + 4 * logit_tokens * vocab - cache), terms);
}

static const gp_formula graphs = GP_FORMULA(
    "graphs.per_layer", "layers * mib_per_layer * 1048576",
    "github.com/vllm-project/vllm start-up logs: 0.54-0.71 GiB of captured CUDA graphs on models of 28 to 36 layers");
gp_amount gp_graphs_amount(double layers, double mib_per_layer) {
    const gp_term terms[] = {{"layers", layers}, {"mib_per_layer", mib_per_layer}};
    return GP_AMOUNT(graphs, layers * mib_per_layer * (double)GP_MIB, terms);
}

const gp_formula *const gp_formulas_inference[] = {
    &kv_cache,        &kv_cache_window, &kv_cache_unlike, &kv_cache_unlike_window, &kv_cache_latent, &kv_cache_recent, &kv_cache_compressed,
    &kv_cache_shared, &kv_cache_unlike_shared, &kv_cache_latent_shared, &kv_cache_latent_packed, &kv_cache_index_shared,
    &kv_cache_index,  &kv_cache_index_compressed, &recurrent_state,
    &recurrent_slots, &recurrent_pages, &pass_state, &workspace_paged, &window_pass, &workspace_transformers, &workspace_eager, &rotary_tables, &former_step,
    &graphs,          NULL,
};
