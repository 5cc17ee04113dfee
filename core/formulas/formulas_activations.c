/* formulas_activations.c: what forward keeps for backward, and the working memory of the backward pass. */
#include <stddef.h>

#include "formulas/formulas.h"

static const gp_formula layers = GP_FORMULA(
    "activations.layers", "tokens * (layers_in_flight * layer_bytes_per_token + end_bytes_per_token) + weight_copies",
    "Korthikanti et al. 2022, arXiv:2205.05198, section 4.1, equations 1 to 5; "
    "core/ledger/activations.c lists the tensors of a layer");
static const gp_formula selective = GP_FORMULA(
    "activations.selective", "tokens * (layers_in_flight * layer_bytes_per_token + end_bytes_per_token) + weight_copies",
    "Korthikanti et al. 2022, arXiv:2205.05198, section 5, equation 6 (attention core); "
    "github.com/pytorch/torchtitan distributed/activation_checkpoint.py (every other matrix product)");
static const gp_formula checkpoints = GP_FORMULA(
    "activations.checkpoints", "tokens * (layers_in_flight * layer_bytes_per_token + end_bytes_per_token) + weight_copies",
    "Chen et al. 2016, arXiv:1604.06174, section 4; Korthikanti et al. 2022, arXiv:2205.05198, table 2: the input of "
    "each layer, 2 bytes per token and hidden element");
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

static const gp_formula layer_backward = GP_FORMULA(
    "workspace.layer_backward", "tokens * (recomputed_bytes_per_token + gradient_bytes_per_token)",
    "Korthikanti et al. 2022, arXiv:2205.05198, section 5: a recomputed layer is whole while it runs backward, and the "
    "gradients of its activations with it");
gp_amount gp_layer_backward_amount(double tokens, double recomputed, double gradients) {
    const gp_term terms[] = {
        {"tokens", tokens}, {"recomputed_bytes_per_token", recomputed}, {"gradient_bytes_per_token", gradients}};
    return GP_AMOUNT(layer_backward, tokens * (recomputed + gradients), terms);
}

static const gp_formula logits_full = GP_FORMULA(
    "logits.full", "tokens * vocab * bytes_per_logit / tp",
    "PyTorch F.cross_entropy on fp32 logits: the fp32 copy, log-softmax kept for backward and its gradient, 4 bytes "
    "each; Korthikanti et al. 2022, arXiv:2205.05198, section 4.3 (vocabulary-parallel loss)");
/* A loss in chunks that is not recomputed keeps what backward needs of every chunk; only what is made of it there
 * comes one chunk at a time. */
static const gp_formula logits_chunked = GP_FORMULA(
    "logits.chunked", "tokens * vocab * (kept_bytes_per_logit + bytes_per_logit / chunks) / tp",
    "github.com/pytorch/torchtune torchtune/modules/loss/ce_chunked_output_loss.py (8 chunks): of each the fp32 "
    "log-softmax, or compiled the 16-bit logits; Hsu et al. 2024 (Liger Kernel), arXiv:2410.10989, section 3.2: nothing "
    "where gradients are made as forward runs");
gp_amount gp_logits_amount(const gp_logits *logits) {
    double all = logits->tokens * logits->vocab / logits->tp;
    const gp_term terms[] = {{"tokens", logits->tokens},
                             {"vocab", logits->vocab},
                             {"bytes_per_logit", logits->bytes},
                             {"tp", logits->tp},
                             {"chunks", logits->chunks},
                             {"kept_bytes_per_logit", logits->kept_bytes}};
    if (logits->chunks > 1) return GP_AMOUNT(logits_chunked, all * (logits->kept_bytes + logits->bytes / logits->chunks), terms);
    return gp_amount_make(&logits_full, all * logits->bytes, 4, terms);
}

/* A formula for each phase of a step that is replayed operator by operator (tape.h): its worst moment. */
#define REPLAY "github.com/huggingface/transformers modeling_llama.py, modeling_gpt2.py and those of other families " \
               "(core/config/config_code.c), github.com/pytorch/pytorch " \
    "tools/autograd/derivatives.yaml: every operator of the step with what it keeps, " \
    "core/ledger/activations_layers.c and core/ledger/tape.c"
#define KEPT "layers_bytes + outside_bytes"
#define LOGITS "tensors * tokens * vocab * 4"
#define WORKING "tokens * (bytes_per_token + 16) + mask_bytes"
static const gp_formula kept_by[] = {
    GP_FORMULA("activations.forward", KEPT, REPLAY), GP_FORMULA("activations.loss", KEPT, REPLAY)};
static const gp_formula left = GP_FORMULA("activations.backward", "saved_bytes - released_bytes", REPLAY);
static const gp_formula logits[] = {
    GP_FORMULA("logits.loss", LOGITS, REPLAY), GP_FORMULA("logits.backward", LOGITS, REPLAY)};
/* 16: numbers of the token and of its label. */
static const gp_formula working[] = {
    GP_FORMULA("workspace.forward", WORKING, REPLAY), GP_FORMULA("workspace.loss", WORKING, REPLAY),
    GP_FORMULA("workspace.backward", WORKING, REPLAY), GP_FORMULA("workspace.batch", WORKING, REPLAY)};
gp_amount gp_replay_kept_amount(gp_replay_phase phase, double of_layers, double outside) {
    const gp_term terms[] = {{"layers_bytes", of_layers}, {"outside_bytes", outside}};
    return GP_AMOUNT(kept_by[phase == GP_REPLAY_LOSS], of_layers + outside, terms);
}
gp_amount gp_replay_left_amount(double saved, double released) {
    const gp_term terms[] = {{"saved_bytes", saved}, {"released_bytes", released}};
    return GP_AMOUNT(left, saved - released, terms);
}
gp_amount gp_replay_logits_amount(gp_replay_phase phase, double bytes, double tokens, double vocab) {
    const gp_term terms[] = {{"tensors", bytes / (4 * tokens * vocab)}, {"tokens", tokens}, {"vocab", vocab}};
    return GP_AMOUNT(logits[phase == GP_REPLAY_BACKWARD], bytes, terms);
}
gp_amount gp_replay_working_amount(gp_replay_phase phase, double bytes, double tokens, double masks) {
    const gp_term terms[] = {{"tokens", tokens}, {"bytes_per_token", bytes / tokens}, {"mask_bytes", masks}};
    return GP_AMOUNT(working[phase], bytes + tokens * 16 + masks, terms);
}

const gp_formula *const gp_formulas_activations[] = {
    &kept_by[0], &kept_by[1], &left, &logits[0], &logits[1], &working[0], &working[1], &working[2], &working[3],
    &layers, &selective, &checkpoints, &layer_backward, &logits_full, &logits_chunked, NULL,
};
