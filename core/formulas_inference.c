/* formulas_inference.c: the KV cache and what an engine works with. */
#include <math.h>
#include <stddef.h>

#include "formulas.h"
#include "quantity.h"

static const gp_formula kv_cache = {
    "kv_cache.blocks", "2 * layers * kv_heads * head_dim * sequences * ceil(context / block) * block * bits / 8",
    "Ainslie et al. 2023 (GQA), arXiv:2305.13245, section 2; Kwon et al. 2023 (PagedAttention), arXiv:2309.06180, "
    "section 4 (blocks of 16 tokens); github.com/ggml-org/llama.cpp src/llama-context.cpp (n_ctx padded to 256)"};
gp_amount gp_kv_cache_amount(double local_layers, double local_kv_heads, double head_dim, double sequences,
                             double context, double block, double bits) {
    const gp_term terms[] = {{"layers", local_layers}, {"kv_heads", local_kv_heads}, {"head_dim", head_dim},
                             {"sequences", sequences}, {"context", context},         {"block", block},
                             {"bits", bits}};
    double cells = sequences * ceil(context / block) * block;
    return GP_AMOUNT(kv_cache, 2 * local_layers * local_kv_heads * head_dim * cells * bits / 8, terms);
}

static const gp_formula workspace_paged = {
    "workspace.paged_engine", "max(tokens * 2 * 3 * (ffn + hidden), sequences * vocab * 40)",
    "github.com/vllm-project/vllm vllm/worker: one forward pass over max_num_batched_tokens is profiled, then the sampler "
    "over max_num_seqs rows of logits (38.2 bytes each in llm-d-planner's table of H100 start-ups)"};
gp_amount gp_workspace_paged_amount(const gp_engine_widths *widths, double batched_tokens, double max_sequences) {
    const gp_term terms[] = {{"tokens", batched_tokens},
                             {"ffn", widths->ffn},
                             {"hidden", widths->hidden},
                             {"sequences", max_sequences},
                             {"vocab", widths->vocab}};
    double forward = batched_tokens * 2 * 3 * (widths->ffn + widths->hidden);
    return GP_AMOUNT(workspace_paged, fmax(forward, max_sequences * widths->vocab * 40), terms);
}

static const gp_formula workspace_llama = {
    "workspace.llama_cpp",
    "max(4 * (outputs * (vocab + hidden) + tokens * hidden), 4 * tokens * (ffn_copies * ffn + 4 * hidden) + mask, "
    "4 * tokens * (2 * query + 3 * hidden + 2 * kv + score_cells) + mask)",
    "github.com/ggml-org/llama.cpp src/llama-graph.cpp and ggml/src/ggml-alloc.c: the largest live set of the graph of "
    "one micro-batch: logits, feed-forward block or attention (score_cells = heads times cells without FlashAttention)"};
gp_amount gp_workspace_llama_amount(const gp_engine_widths *widths, double ubatch, double outputs, double cells,
                                    bool flash, bool gated) {
    double mask = (flash ? 2 : 4) * ubatch * cells, copies = gated ? 3 : 1;
    double score_cells = flash ? 0 : widths->heads * cells;
    const gp_term terms[] = {{"tokens", ubatch},          {"outputs", outputs},     {"vocab", widths->vocab},
                             {"hidden", widths->hidden},  {"ffn", widths->ffn},     {"ffn_copies", copies},
                             {"query", widths->query},    {"kv", widths->kv},       {"score_cells", score_cells},
                             {"mask", mask}};
    double h = widths->hidden;
    double logits = 4 * (outputs * (widths->vocab + h) + ubatch * h);
    double ffn = 4 * ubatch * (copies * widths->ffn + 4 * h) + mask;
    double attention = 4 * ubatch * (2 * widths->query + 3 * h + 2 * widths->kv + score_cells) + mask;
    return GP_AMOUNT(workspace_llama, fmax(logits, fmax(ffn, attention)), terms);
}

static const gp_formula workspace_transformers = {
    "workspace.transformers", "tokens * 2 * 3 * (ffn + hidden) + 6 * logit_tokens * vocab + layer_cache",
    "github.com/huggingface/transformers: the feed-forward block of one layer; logits of the whole prompt (16 bits and an "
    "fp32 copy) before release 4.45, of the last token since; cache_utils.py concatenates one layer's cache at a time"};
gp_amount gp_workspace_transformers_amount(const gp_engine_widths *widths, double tokens, double logit_tokens,
                                           double layer_cache) {
    const gp_term terms[] = {{"tokens", tokens},           {"ffn", widths->ffn},
                             {"hidden", widths->hidden},   {"logit_tokens", logit_tokens},
                             {"vocab", widths->vocab},     {"layer_cache", layer_cache}};
    double forward = tokens * 2 * 3 * (widths->ffn + widths->hidden);
    return GP_AMOUNT(workspace_transformers, forward + 6 * logit_tokens * widths->vocab + layer_cache, terms);
}

static const gp_formula graphs = {
    "graphs.per_layer", "layers * mib_per_layer * 1048576",
    "github.com/vllm-project/vllm start-up logs: 0.54-0.71 GiB of captured CUDA graphs on models of 28 to 36 layers"};
gp_amount gp_graphs_amount(double layers, double mib_per_layer) {
    const gp_term terms[] = {{"layers", layers}, {"mib_per_layer", mib_per_layer}};
    return GP_AMOUNT(graphs, layers * mib_per_layer * (double)GP_MIB, terms);
}

const gp_formula *const gp_formulas_inference[] = {
    &kv_cache, &workspace_paged, &workspace_llama, &workspace_transformers, &graphs, NULL,
};
