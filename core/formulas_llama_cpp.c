/* formulas_llama_cpp.c: what llama.cpp allocates: the tensors of a GGUF file and the buffers of one graph. */
#include <math.h>
#include <stddef.h>

#include "formulas.h"

static const gp_formula weights_tensors = {
    "weights.gguf_tensors", "(layer_bytes + embedding_bytes + output_bytes) / ways + end_bytes",
    "github.com/ggml-org/llama.cpp src/llama-quant.cpp: a mix names the type of each tensor by its role and layer; "
    "ggml/src/ggml-common.h: bytes of a block"};
gp_amount gp_weights_tensors_amount(const gp_file_share *share, double ways) {
    double layers = (double)share->layers, embedding = (double)share->embedding, output = (double)share->output;
    double ends = (double)share->ends;
    const gp_term terms[] = {{"layer_bytes", layers},
                             {"embedding_bytes", embedding},
                             {"output_bytes", output},
                             {"ways", ways},
                             {"end_bytes", ends}};
    return GP_AMOUNT(weights_tensors, (layers + embedding + output) / ways + ends, terms);
}

static const gp_formula workspace = {
    "workspace.llama_cpp",
    "max(4 * (outputs * (vocab + kept * hidden) + tokens * hidden), 4 * tokens * ffn_width + mask, "
    "4 * tokens * (attention_width + score_cells) + mask, 4 * tokens * recurrent_width + scan_bytes)",
    "github.com/ggml-org/llama.cpp src/llama-graph.cpp and ggml/src/ggml-alloc.c: the largest live set of the graph of "
    "one micro-batch: logits, feed-forward block, attention (score_cells = heads times cells without FlashAttention) or "
    "recurrence"};
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

const gp_formula *const gp_formulas_llama_cpp[] = {&weights_tensors, &workspace, NULL};
