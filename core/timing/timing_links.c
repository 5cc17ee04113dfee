/* timing_links.c: the links between the ranks of a replica, or of replicas that share their experts. */
#include <math.h>

#include "timing/timing_parts.h"

static const double element_bytes = 2; /* of a hidden row */

/* Steps send little at a time, and no link gives its rate then (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md). */
double gp_replica_step_link_share(const gp_replica *m) {
    return m->engine->step_link_share > 0 ? m->engine->step_link_share : GP_PROMPT_LINK_SHARE;
}

/* Two all-reduces a layer of 16-bit hidden rows, over the ranks that share its weights: within a group of data-parallel
 * attention, which has no second one where experts follow. */
gp_timed gp_replica_reduces(const gp_replica *m, double passes, double tokens, double link_share) {
    gp_timed result = {.value = 0};
    bool groups = m->layout->attention.groups > 1;
    double ranks = groups ? (double)m->layout->attention.tp : m->ranks;
    if (ranks <= 1) return result;
    double moved = 2 * (ranks - 1) / ranks * tokens / m->attention_ways * (double)m->model->shape.hidden * element_bytes;
    double reduces = 2 * m->layers - (groups ? m->expert_layers : 0);
    const gp_reduce_parts parts = {reduces, passes, m->engine->reduce_s + m->hop_s, moved, m->link_bytes_per_s * link_share};
    result.value = gp_reduce_seconds(&parts, &result.why);
    return result;
}

/* Where groups of data-parallel attention share the experts, a rank has tokens / ranks of the tokens and sends each to
 * the ranks of its k experts, R (1 - (1 - 1/R)^k) in the mean, of which one in R is itself; as many rows come back. They go in
 * 16 bits both ways, as engines send them that have no kernels of their own for this. The more ranks, the later the last of
 * them: the starts of DeepEP's kernels (docs/legacy.md) grow by 2.5 from 8 ranks to 64. Its rate is not reached. */
gp_timed gp_replica_exchange(const gp_replica *m, double passes, double tokens) {
    const double rank_start_s = 35e-6, link_share = 0.1, ways = 2;
    gp_timed result = {.value = 0};
    const gp_experts *experts = &m->model->shape.experts;
    double ranks = m->expert_ranks, missed = 1;
    if (m->layout->attention.groups <= 1 || ranks <= 1 || !(m->expert_layers > 0)) return result;
    for (int64_t i = 0; i < experts->topk && missed > 1e-9; i++) missed *= 1 - 1 / ranks;
    double rows = tokens * m->expert_groups * (1 - missed) * (ranks - 1) / ranks;
    double sent = rows * (double)m->model->shape.hidden * ways * element_bytes;
    double start_s = rank_start_s * sqrt(ranks) + ways * m->hop_s;
    const gp_exchange_parts parts = {m->expert_layers, passes, start_s, sent, m->link_bytes_per_s * link_share};
    result.value = gp_exchange_seconds(&parts, &result.why);
    return result;
}

/* Ranks that share out a sequence's tokens gather the queries of all their heads and, with what each makes of its tokens, a
 * sum for each head, and add up the outputs (vllm/v1/attention/ops: cp_lse_ag_out_rs). No measurement tells how long: three
 * collectives a layer, each as slow to start as an all-reduce. Heads of a latent are as wide as it is. */
double gp_replica_merge_seconds(const gp_replica *m, double tokens) {
    const double each_layer = 3, ways = 2;
    double ranks = (double)m->layout->dcp, seconds = 0;
    if (ranks <= 1) return 0;
    for (int i = 0; i < m->model->kind_count; i++) {
        const gp_layer *layer = &m->model->kinds[i];
        if (layer->cache_keys == 0) continue;
        bool latent = layer->kind.attention == GP_ATTENTION_LATENT;
        double width = latent ? (double)layer->kind.heads * (double)(layer->cache_keys + layer->cache_values)
                              : gp_head_width(&layer->kind);
        double moved = ways * (ranks - 1) * tokens * width / (double)m->layout->attention.tp * element_bytes;
        double starts = each_layer * (m->engine->reduce_s + m->hop_s);
        seconds += (double)m->model->kind_layers[i] * (starts + moved / (m->link_bytes_per_s * GP_PROMPT_LINK_SHARE));
    }
    return seconds;
}
