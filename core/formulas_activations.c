/* formulas_activations.c: what forward keeps for backward, and the working memory of the backward pass. */
#include <stddef.h>

#include "formulas.h"

static const gp_formula layers = {
    "activations.layers", "tokens * (layers_in_flight * layer_bytes_per_token + end_bytes_per_token) + weight_copies",
    "Korthikanti et al. 2022, arXiv:2205.05198, section 4.1, equations 1 to 5; core/activations.c lists the tensors of "
    "a layer"};
static const gp_formula selective = {
    "activations.selective", "tokens * (layers_in_flight * layer_bytes_per_token + end_bytes_per_token) + weight_copies",
    "Korthikanti et al. 2022, arXiv:2205.05198, section 5, equation 6 (attention core); "
    "github.com/pytorch/torchtitan distributed/activation_checkpoint.py (every other matrix product)"};
static const gp_formula checkpoints = {
    "activations.checkpoints", "tokens * (layers_in_flight * layer_bytes_per_token + end_bytes_per_token) + weight_copies",
    "Chen et al. 2016, arXiv:1604.06174, section 4; Korthikanti et al. 2022, arXiv:2205.05198, table 2: the input of "
    "each layer, 2 bytes per token and hidden element"};
gp_amount gp_activations_amount(const gp_kept_activations *kept, gp_recompute policy) {
    const gp_formula *formula = policy == GP_RECOMPUTE_FULL        ? &checkpoints
                                : policy == GP_RECOMPUTE_SELECTIVE ? &selective
                                                                   : &layers;
    const gp_term terms[] = {{"tokens", kept->tokens},
                             {"layers_in_flight", kept->layers_in_flight},
                             {"layer_bytes_per_token", kept->layer_bytes},
                             {"end_bytes_per_token", kept->end_bytes},
                             {"weight_copies", kept->weight_copies}};
    double per_token = kept->layers_in_flight * kept->layer_bytes + kept->end_bytes;
    return gp_amount_make(formula, kept->tokens * per_token + kept->weight_copies, 5, terms);
}

static const gp_formula layer_backward = {
    "workspace.layer_backward", "tokens * (recomputed_bytes_per_token + gradient_bytes_per_token)",
    "Korthikanti et al. 2022, arXiv:2205.05198, section 5: a recomputed layer is whole while it runs backward, and the "
    "gradients of its activations with it"};
gp_amount gp_layer_backward_amount(double tokens, double recomputed, double gradients) {
    const gp_term terms[] = {
        {"tokens", tokens}, {"recomputed_bytes_per_token", recomputed}, {"gradient_bytes_per_token", gradients}};
    return GP_AMOUNT(layer_backward, tokens * (recomputed + gradients), terms);
}

static const gp_formula logits_full = {
    "logits.full", "tokens * vocab * bytes_per_logit / tp",
    "PyTorch F.cross_entropy on fp32 logits: the fp32 copy, log-softmax kept for backward and its gradient, 4 bytes "
    "each; Korthikanti et al. 2022, arXiv:2205.05198, section 4.3 (vocabulary-parallel loss)"};
static const gp_formula logits_chunked = {
    "logits.chunked", "tokens / chunks * vocab * bytes_per_logit / tp",
    "Hsu et al. 2024 (Liger Kernel), arXiv:2410.10989, section 3.2; github.com/pytorch/torchtune "
    "modules/loss/ce_chunked_output_loss.py (8 chunks)"};
gp_amount gp_logits_amount(double tokens, double vocab, double bytes_per_logit, double tp, double chunks) {
    const gp_term terms[] = {
        {"tokens", tokens}, {"vocab", vocab}, {"bytes_per_logit", bytes_per_logit}, {"tp", tp}, {"chunks", chunks}};
    if (chunks > 1) return GP_AMOUNT(logits_chunked, tokens / chunks * vocab * bytes_per_logit / tp, terms);
    return gp_amount_make(&logits_full, tokens * vocab * bytes_per_logit / tp, 4, terms);
}

#define REPLAY "github.com/huggingface/transformers modeling_llama.py, modeling_gpt2.py, github.com/pytorch/pytorch " \
    "tools/autograd/derivatives.yaml: every operator of the step with what it keeps, core/activations_layers.c and core/tape.c"
static const gp_formula replay_kept = {"activations.replay", "layers_bytes + outside_bytes", REPLAY};
static const gp_formula replay_left = {"activations.replay_left", "saved_bytes - released_bytes", REPLAY};
static const gp_formula replay_logits = {"logits.replay", "tensors * tokens * vocab * 4", REPLAY};
static const gp_formula replay_working = {"workspace.replay", "tokens * (bytes_per_token + 16) + mask_bytes",
    REPLAY "; token and label numbers of 8 bytes each; GPT-2's causal masks"};
gp_amount gp_replay_kept_amount(double of_layers, double other) {
    const gp_term terms[] = {{"layers_bytes", of_layers}, {"outside_bytes", other}};
    return GP_AMOUNT(replay_kept, of_layers + other, terms);
}
gp_amount gp_replay_left_amount(double kept, double released) {
    const gp_term terms[] = {{"saved_bytes", kept}, {"released_bytes", released}};
    return GP_AMOUNT(replay_left, kept - released, terms);
}
gp_amount gp_replay_logits_amount(double bytes, double tokens, double vocab) {
    const gp_term terms[] = {{"tensors", bytes / (4 * tokens * vocab)}, {"tokens", tokens}, {"vocab", vocab}};
    gp_amount amount = GP_AMOUNT(replay_logits, bytes, terms);
    return amount;
}
gp_amount gp_replay_working_amount(double bytes, double tokens, double masks) {
    const gp_term terms[] = {{"tokens", tokens}, {"bytes_per_token", bytes / tokens}, {"mask_bytes", masks}};
    return GP_AMOUNT(replay_working, bytes + tokens * 16 + masks, terms);
}

const gp_formula *const gp_formulas_activations[] = {
    &replay_kept, &replay_left, &replay_logits, &replay_working,
    &layers, &selective, &checkpoints, &layer_backward, &logits_full, &logits_chunked, NULL,
};
