/* formulas_llama_cpp.c: what llama.cpp allocates: the tensors of a GGUF file and the buffers of one graph. */
#include <math.h>
#include <stddef.h>

#include "formulas/formulas.h"

static const gp_formula weights_tensors = GP_FORMULA(
    "weights.gguf_tensors", "(layer_bytes + embedding_bytes + output_bytes) / ways + end_bytes",
    "github.com/ggml-org/llama.cpp src/llama-quant.cpp: a mix names the type of each tensor by its role and layer; "
    "ggml/src/ggml-common.h: bytes of a block");
static const gp_formula weights_imported = GP_FORMULA(
    "weights.gguf_file", "(layer_bytes + embedding_bytes + output_bytes) / ways + end_bytes",
    "The header of the imported file: the bytes of its tensors; its ends as the mix packs them: github.com/ggml-org/"
    "llama.cpp src/llama-quant.cpp");
gp_amount gp_weights_tensors_amount(const gp_file_share *share, double ways) {
    double layers = (double)share->layers, embedding = (double)share->embedding, output = (double)share->output;
    double ends = (double)share->ends;
    const gp_term terms[] = {{"layer_bytes", layers},
                             {"embedding_bytes", embedding},
                             {"output_bytes", output},
                             {"ways", ways},
                             {"end_bytes", ends}};
    const gp_formula *formula = share->imported ? &weights_imported : &weights_tensors;
    return gp_amount_make(formula, (layers + embedding + output) / ways + ends, 5, terms);
}

static const gp_formula workspace = GP_FORMULA(
    "workspace.llama_cpp",
    "max(4 * (outputs * (vocab + kept * hidden) + tokens * hidden), 4 * tokens * ffn_width + mask, "
    "4 * tokens * (attention_width + score_cells) + mask, 4 * tokens * recurrent_width + scan_bytes)",
    "github.com/ggml-org/llama.cpp src/llama-graph.cpp and ggml/src/ggml-alloc.c: the largest live set of the graph of "
    "one micro-batch: logits, feed-forward block, attention (score_cells = heads times cells without FlashAttention) or "
    "recurrence");
gp_amount gp_workspace_llama_amount(const gp_llama_widths *widths) {
    const gp_llama_widths *w = widths;
    const gp_term terms[] = {{"outputs", w->outputs},
                             {"vocab", w->vocab},
                             {"kept", w->kept},
                             {"hidden", w->hidden},
                             {"tokens", w->tokens},
                             {"ffn_width", w->ffn},
                             {"mask", w->mask},
                             {"attention_width", w->attention},
                             {"score_cells", w->score_cells},
                             {"recurrent_width", w->recurrent},
                             {"scan_bytes", w->scan_bytes}};
    double logits = 4 * (w->outputs * (w->vocab + w->kept * w->hidden) + w->tokens * w->hidden);
    double ffn = 4 * w->tokens * w->ffn + w->mask;
    double attention = 4 * w->tokens * (w->attention + w->score_cells) + w->mask;
    double recurrent = 4 * w->tokens * w->recurrent + w->scan_bytes;
    return GP_AMOUNT(workspace, fmax(fmax(logits, ffn), fmax(attention, recurrent)), terms);
}

static const gp_formula workspace_2023 = GP_FORMULA(
    "workspace.llama_cpp_2023", "4 * tokens * max(vocab + hidden, 2 * ffn + 2 * hidden + context) + objects",
    "github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference: buffers that builds of December 2023 print: logits, or the "
    "feed-forward block beside the mask; where host and device share memory also the graph's 8,192 tensor objects");
gp_amount gp_workspace_llama_2023_amount(const gp_llama_widths *w, double context, double objects) {
    const gp_term terms[] = {{"tokens", w->tokens},
                             {"vocab", w->vocab},
                             {"hidden", w->hidden},
                             {"ffn", w->ffn},
                             {"context", context},
                             {"objects", objects}};
    double logits = w->vocab + w->hidden, ffn = 2 * w->ffn + 2 * w->hidden + context;
    return GP_AMOUNT(workspace_2023, 4 * w->tokens * fmax(logits, ffn) + objects, terms);
}

static const gp_formula ik_latent = GP_FORMULA(
    "workspace.ik_latent", "cells * (2 * width + 6 * tokens) + 1.5 * min(512 * 1048576, 4 * cells * made)",
    "github.com/ikawrakow/ik_llama.cpp, pull request 260 (-mla 2 or 3, -amb 512): keys and values of all heads are made of "
    "the latents of the whole context, in pieces of 512 MiB in 32 bits beside which their 16-bit halves stand, and the mask "
    "in 16 and 32 bits; what its logs of DeepSeek-V3 print for 2,048 to 131,072 tokens");
gp_amount gp_workspace_ik_latent_amount(const gp_llama_widths *w, const gp_ik_latent_widths *of) {
    const double piece = 512 * 1048576.0;
    const gp_term terms[] = {{"cells", of->cells}, {"width", of->whole}, {"tokens", w->tokens}, {"made", of->made}};
    double bytes = of->cells * (2 * of->whole + 6 * w->tokens) + 1.5 * fmin(piece, 4 * of->cells * of->made);
    return GP_AMOUNT(ik_latent, bytes, terms);
}

static const gp_formula ik_weights = GP_FORMULA(
    "weights.ik_latent", "layers * made * weight_bits / 8",
    "github.com/ikawrakow/ik_llama.cpp, pull requests 259 and 409: attn_kv_b, by which prompts are read, and attn_k_b and "
    "attn_v_b, by which tokens are generated, are held both; one is made of the other where the file lacks it");
gp_amount gp_weights_ik_latent_amount(double layers, double made, double bits) {
    const gp_term terms[] = {{"layers", layers}, {"made", made}, {"weight_bits", bits}};
    return GP_AMOUNT(ik_weights, layers * made * bits / 8, terms);
}

static const gp_formula routers = GP_FORMULA("weights.routers", "routers * more_bits / 8",
                                             "github.com/ggml-org/llama.cpp src/llama-quant.cpp: ffn_gate_inp is not quantised");
gp_amount gp_weights_routers_amount(double params, double more_bits) {
    const gp_term terms[] = {{"routers", params}, {"more_bits", more_bits}};
    return GP_AMOUNT(routers, params * more_bits / 8, terms);
}

static const gp_formula copies = GP_FORMULA(
    "workspace.llama_cpp_copies", "3 * mask + 4 * 4 * tokens * hidden",
    "github.com/ggml-org/llama.cpp ggml/src/ggml-backend.cpp: devices that work as a pipeline hold four copies of the "
    "inputs (GGML_SCHED_MAX_COPIES)");
gp_amount gp_workspace_llama_copies_amount(const gp_llama_widths *w) {
    const gp_term terms[] = {{"mask", w->mask}, {"tokens", w->tokens}, {"hidden", w->hidden}};
    return GP_AMOUNT(copies, 3 * w->mask + 16 * w->tokens * w->hidden, terms);
}

const gp_formula *const gp_formulas_llama_cpp[] = {&weights_tensors, &weights_imported, &workspace, &workspace_2023, &ik_latent, &copies, &ik_weights, &routers, NULL};
