#include <math.h>
#include <stddef.h>

#include "formulas/formulas.h"

static gp_amount state(const gp_formula *formula, gp_textbook_share share, double bytes_per_param) {
    const gp_term terms[] = {
        {"params", share.params}, {"bytes_per_param", bytes_per_param}, {"ways", share.ways}, {"shards", share.shards}};
    return gp_amount_make(formula, share.params * bytes_per_param / (share.ways * share.shards), 4, terms);
}

static const gp_formula weights = GP_FORMULA(
    "textbook.weights", "params * bytes_per_param / (ways * shards)",
    "Rajbhandari et al. 2020 (ZeRO), arXiv:1910.02054, section 3.1: 2 bytes per 16-bit parameter");
gp_amount gp_textbook_weights(gp_textbook_share share, double bytes_per_param) {
    return state(&weights, share, bytes_per_param);
}

static const gp_formula gradients = GP_FORMULA(
    "textbook.gradients", "params * bytes_per_param / (ways * shards)",
    "Rajbhandari et al. 2020 (ZeRO), arXiv:1910.02054, section 3.1: 2 bytes per 16-bit gradient");
gp_amount gp_textbook_gradients(gp_textbook_share share, double bytes_per_param) {
    return state(&gradients, share, bytes_per_param);
}

static const gp_formula master = GP_FORMULA(
    "textbook.master_weights", "params * bytes_per_param / (ways * shards)",
    "Rajbhandari et al. 2020 (ZeRO), arXiv:1910.02054, section 3.1: K = 12 holds 4 bytes of fp32 parameters");
gp_amount gp_textbook_master(gp_textbook_share share, double bytes_per_param) {
    return state(&master, share, bytes_per_param);
}

static const gp_formula optimizer = GP_FORMULA(
    "textbook.optimizer", "params * bytes_per_param / (ways * shards)",
    "Rajbhandari et al. 2020 (ZeRO), arXiv:1910.02054, section 3.1: K = 12 holds 8 bytes of Adam moments; "
    "Dettmers et al. 2022, arXiv:2110.02861: 2 bytes with 8-bit states");
gp_amount gp_textbook_optimizer(gp_textbook_share share, double bytes_per_param) {
    return state(&optimizer, share, bytes_per_param);
}

static const gp_formula adapter = GP_FORMULA(
    "textbook.adapter", "params * (kept_bytes + sharded_bytes / shards) / ways",
    "Hu et al. 2021 (LoRA), arXiv:2106.09685, section 4: r * (inputs + outputs) parameters per matrix, each with the "
    "full training state");
gp_amount gp_textbook_adapter(gp_textbook_share share, double kept, double sharded) {
    const gp_term terms[] = {{"params", share.params},
                             {"kept_bytes", kept},
                             {"sharded_bytes", sharded},
                             {"shards", share.shards},
                             {"ways", share.ways}};
    return GP_AMOUNT(adapter, share.params * (kept + sharded / share.shards) / share.ways, terms);
}

static const gp_formula activations = GP_FORMULA(
    "textbook.activations", "c * b * s * h * L * n / (v * tp * cp)",
    "Korthikanti et al. 2022, arXiv:2205.05198, section 4.1: 34 bytes per token and hidden element of a layer without "
    "the attention scores, and section 4.2.3: n micro-batches in flight in the L layers of a pipeline stage");
static const gp_formula activations_recomputed = GP_FORMULA(
    "textbook.activations_recomputed", "(2 * L * n / v + c) * b * s * h / (tp * cp)",
    "Korthikanti et al. 2022, arXiv:2205.05198, table 2: full recomputation keeps 2 bytes per token and hidden element "
    "of each layer, and one whole layer while it is recomputed");
gp_amount gp_textbook_activations(const gp_layout *layout, const gp_stage_share *share, int64_t hidden,
                                  double coefficient, bool recompute) {
    double c = coefficient, b = (double)layout->micro_batch, s = (double)layout->seq_len, h = (double)hidden;
    double layers = (double)share->layers, n = (double)share->in_flight, v = (double)layout->vpp;
    double tp = (double)layout->tp, cp = (double)layout->cp;
    const gp_term terms[] = {{"c", c}, {"b", b}, {"s", s}, {"h", h}, {"L", layers}, {"n", n}, {"v", v}, {"tp", tp},
                             {"cp", cp}};
    if (recompute) return GP_AMOUNT(activations_recomputed, (2 * layers * n / v + c) * b * s * h / (tp * cp), terms);
    return GP_AMOUNT(activations, c * b * s * h * layers * n / (v * tp * cp), terms);
}

static const gp_formula kv_cache = GP_FORMULA(
    "textbook.kv_cache", "2 * L * ceil(g / tp) * d * tokens * bits / 8",
    "Ainslie et al. 2023 (GQA), arXiv:2305.13245, section 2: one key and one value per KV head, layer and token; of "
    "fewer KV heads than GPUs each GPU holds one");
static const gp_formula kv_latent = GP_FORMULA(
    "textbook.kv_latent", "L * latent * tokens * bits / 8",
    "DeepSeek-V2, arXiv:2405.04434, section 2.1.3: one latent and one rotary key for each layer and token, whatever the heads; "
    "every GPU holds them");
gp_amount gp_textbook_kv(const gp_layout *layout, const gp_stage_share *share, const gp_shape *shape, double tokens) {
    double layers = (double)share->layers, g = (double)shape->kv_heads, d = (double)shape->head_dim;
    double bits = layout->recipe.kv_bits, tp = (double)layout->attention.tp;
    if (shape->latent.kv_lora > 0) {
        double latent = (double)(shape->latent.kv_lora + shape->latent.rope);
        const gp_term terms[] = {{"L", layers}, {"latent", latent}, {"tokens", tokens}, {"bits", bits}};
        return GP_AMOUNT(kv_latent, layers * latent * tokens * bits / 8, terms);
    }
    const gp_term terms[] = {{"L", layers}, {"g", g}, {"tp", tp}, {"d", d}, {"tokens", tokens}, {"bits", bits}};
    return GP_AMOUNT(kv_cache, 2 * layers * ceil(g / tp) * d * tokens * bits / 8, terms);
}

const gp_formula *const gp_formulas_textbook[] = {
    &weights, &gradients, &master, &optimizer, &adapter, &activations, &activations_recomputed, &kv_cache,
    &kv_latent, NULL,
};
