/* layout_attention.c: how serving engines share out attention. Data-parallel attention: every group computes attention for its own sequences; the
 * routed experts are split over the ranks of all groups.
 *
 * SGLang (layers/dp_attention.py; --enable-dp-attention): --dp-size groups within --tp-size, of tp / dp ranks each, which
 * split attention and the token table; dense blocks, shared experts and the output matrix are split over all of tp.
 * TensorRT-LLM (models/modeling_deepseekv3.py; enable_attention_dp): groups within tp, which hold all but the routed experts.
 * vLLM (docs/serving/data_parallel_deployment.md; --data-parallel-size): every group is a replica of --tensor-parallel-size
 * ranks that holds all but the routed experts; these are split over dp * tp ranks. */
#include "layout/layout.h"

static int64_t given(const gp_job *job, gp_field field) {
    return gp_known(job, field) && gp_whole(job, field) > 1 ? gp_whole(job, field) : 1;
}

static bool is_sglang(const gp_job *job) { return gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_SGLANG); }

bool gp_layout_dp_is_within(const gp_job *job) {
    int64_t dp = given(job, GP_FIELD_INFER_DP), stated = given(job, GP_FIELD_ATTENTION_DP);
    bool told = gp_origin_of(job, GP_FIELD_INFER_DP) == GP_GIVEN && gp_known(job, GP_FIELD_INFER_TP);
    if (gp_is_training(job) || !is_sglang(job) || dp == 1 || !told || gp_origin_of(job, GP_FIELD_COUNT) != GP_GIVEN) return false;
    int64_t tp = given(job, GP_FIELD_INFER_TP);
    uint64_t ranks = gp_mul((uint64_t)tp, (uint64_t)given(job, GP_FIELD_INFER_PP));
    return (uint64_t)gp_whole(job, GP_FIELD_COUNT) == ranks && tp % dp == 0 && (stated == 1 || stated == dp);
}

int64_t gp_layout_groups(const gp_job *job) {
    if (gp_is_training(job)) return 1;
    return given(job, gp_layout_dp_is_within(job) ? GP_FIELD_INFER_DP : GP_FIELD_ATTENTION_DP);
}

bool gp_layout_groups_are_replicas(const gp_job *job) {
    bool fit_within = !gp_known(job, GP_FIELD_INFER_TP) || given(job, GP_FIELD_INFER_TP) % gp_layout_groups(job) == 0;
    return gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM) || !fit_within;
}

static int64_t ranks_of(int64_t tp, int64_t groups) {
    uint64_t ranks = gp_mul((uint64_t)tp, (uint64_t)groups);
    return ranks > GP_EXACT_MAX ? (int64_t)GP_EXACT_MAX : (int64_t)ranks;
}

gp_attention_groups gp_layout_attention(const gp_job *job, int64_t tp, int64_t dp, gp_diagnostics *diagnostics) {
    int64_t groups = gp_layout_groups(job);
    gp_attention_groups none = {1, tp, tp, tp}, replicas = {groups, tp, tp, ranks_of(tp, groups)};
    if (groups == 1) return none;
    bool shares_replicas = dp % groups == 0;
    if (shares_replicas && gp_layout_groups_are_replicas(job)) return replicas;
    if (tp % groups == 0) return (gp_attention_groups){groups, tp / groups, is_sglang(job) ? tp : tp / groups, tp};
    if (shares_replicas) return replicas;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_ATTENTION_DP_MISMATCH, "infer.attention_dp");
    gp_argue_number(row, "attention_dp", (double)groups);
    gp_argue_number(row, "tp", (double)tp);
    gp_argue_number(row, "dp", (double)dp);
    return none;
}

int64_t gp_layout_ways(const gp_layout *layout, gp_tensor tensor) {
    bool feed_forward = tensor >= GP_TENSOR_FFN_GATE && tensor <= GP_TENSOR_LATENT_UP;
    return feed_forward ? layout->attention.feed_forward_tp : layout->attention.tp;
}

int64_t gp_layout_caches(const gp_layout *layout) { return layout->dp * (layout->tp / layout->attention.tp); }

/* Position p of a sequence is kept by rank p mod dcp of those that would keep copies. vLLM
 * (docs/serving/context_parallel_deployment.md; --decode-context-parallel-size): within tensor parallelism, at most as many
 * ranks as there are copies of a KV head or latent; no windows (v1/kv_cache_interface.py). SGLang
 * (docs/advanced_features/dcp; --dcp-size): latents alone. */
int64_t gp_layout_dcp(const gp_job *job) {
    bool served = is_sglang(job) || gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_VLLM);
    bool counted = served && gp_is_choice(job, GP_FIELD_LEDGER, GP_CHOICE_LEDGER_DETAILED);
    return !gp_is_training(job) && counted ? given(job, GP_FIELD_DCP) : 1;
}

/* Indexer keys: github.com/sgl-project/sglang pull request 31821; vLLM shares them out as well (pull request 46145). */
void gp_layout_share_tokens(const gp_job *job, gp_layout *layout) {
    layout->dcp = gp_layout_dcp(job);
    layout->index_dcp = is_sglang(job) ? 1 : layout->dcp;
}

static int64_t copies_of(const gp_job *job, const gp_layer *layer, int64_t tp) {
    if (layer->cache_keys == 0 || tp == 1) return tp;
    if (layer->window > 0 || layer->kind.attention == GP_ATTENTION_COMPRESSED) return 1;
    if (layer->kind.attention == GP_ATTENTION_LATENT) return tp;
    int64_t heads = layer->kind.kv_heads > 0 ? layer->kind.kv_heads : 1;
    return is_sglang(job) || tp <= heads ? 1 : tp / heads;
}

int64_t gp_layout_most_dcp(const gp_job *job, const gp_model *model, int64_t tp) {
    int64_t most = tp;
    for (int i = 0; i < model->kind_count; i++) {
        int64_t copies = copies_of(job, &model->kinds[i], tp);
        if (copies < most) most = copies;
    }
    return most;
}
