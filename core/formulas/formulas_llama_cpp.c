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
    "workspace.llama_cpp_2023", "4 * tokens * max(vocab + hidden, 2 * ffn + 2 * hidden + context)",
    "github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference: buffers that builds of December 2023 print: logits, or the "
    "feed-forward block beside the mask");
gp_amount gp_workspace_llama_2023_amount(const gp_llama_widths *w, double context) {
    const gp_term terms[] = {{"tokens", w->tokens},
                             {"vocab", w->vocab},
                             {"hidden", w->hidden},
                             {"ffn", w->ffn},
                             {"context", context}};
    double logits = w->vocab + w->hidden, ffn = 2 * w->ffn + 2 * w->hidden + context;
    return GP_AMOUNT(workspace_2023, 4 * w->tokens * fmax(logits, ffn), terms);
}

static const gp_formula ik_latent = GP_FORMULA(
    "workspace.ik_latent", "2 * cells * width + 512 * 1048576 + 28 * tokens * hidden",
    "github.com/ikawrakow/ik_llama.cpp (-mla 3, -amb 512): keys and values of all heads are made of the latent for the whole "
    "context, scores in pieces; fitted on its logs of DeepSeek-V3");
gp_amount gp_workspace_ik_latent_amount(const gp_llama_widths *w, double cells, double width) {
    const gp_term terms[] = {{"cells", cells}, {"width", width}, {"tokens", w->tokens}, {"hidden", w->hidden}};
    return GP_AMOUNT(ik_latent, 2 * cells * width + 512 * 1048576.0 + 28 * w->tokens * w->hidden, terms);
}

static const gp_formula copies = GP_FORMULA(
    "workspace.llama_cpp_copies", "3 * mask + 4 * 4 * tokens * hidden",
    "github.com/ggml-org/llama.cpp ggml/src/ggml-backend.cpp: devices that work as a pipeline hold four copies of the "
    "inputs (GGML_SCHED_MAX_COPIES)");
gp_amount gp_workspace_llama_copies_amount(const gp_llama_widths *w) {
    const gp_term terms[] = {{"mask", w->mask}, {"tokens", w->tokens}, {"hidden", w->hidden}};
    return GP_AMOUNT(copies, 3 * w->mask + 16 * w->tokens * w->hidden, terms);
}

const gp_formula *const gp_formulas_llama_cpp[] = {&weights_tensors, &weights_imported, &workspace, &workspace_2023, &ik_latent, &copies, NULL};
