/* ledger_inference.c: one rank of a serving engine. The cache is what the job's sequences need, not the pool that an
 * engine would take in advance. */
#include <math.h>

#include "formulas.h"
#include "ledger.h"

enum {
    ALWAYS = GP_PHASE_BIT(GP_PHASE_LOAD) | GP_PHASE_BIT(GP_PHASE_PREFILL) | GP_PHASE_BIT(GP_PHASE_DECODE),
    SERVING = GP_PHASE_BIT(GP_PHASE_PREFILL) | GP_PHASE_BIT(GP_PHASE_DECODE),
    PREFILL = GP_PHASE_BIT(GP_PHASE_PREFILL)
};

static const double spread_weights = 0.005, spread_cache = 0.005, spread_workspace = 0.35, spread_context = 0.40;

static double number(const gp_job *job, gp_field field, double fallback) {
    return gp_known(job, field) ? (double)gp_whole(job, field) : fallback;
}

static gp_engine_widths widths_of(const gp_model *model, const gp_layout *layout, const gp_stage_share *share) {
    const gp_shape *shape = &model->shape;
    double tp = (double)layout->tp, d = (double)shape->head_dim, heads = (double)shape->heads / tp;
    return (gp_engine_widths){.hidden = (double)shape->hidden,
                              .query = heads * d,
                              .kv = (double)share->kv_heads * d,
                              .ffn = (double)shape->ffn / tp,
                              .heads = heads,
                              .vocab = (double)shape->vocab};
}

/* llama.cpp keeps the first layers on the host when fewer than all are sent to the devices, and with them embedding and
 * output matrix (--gpu-layers; one more than the layers sends everything). */
static gp_stage_share on_devices(const gp_job *job, const gp_model *model, const gp_stage_share *share) {
    gp_stage_share kept = *share;
    int64_t layers = model->shape.layers, sent = layers + 1;
    if (gp_known(job, GP_FIELD_GPU_LAYERS)) sent = gp_whole(job, GP_FIELD_GPU_LAYERS);
    if (sent > layers) return kept;
    kept.layers = share->layers * sent / layers;
    kept.linear_params = share->layers > 0 ? share->linear_params / (uint64_t)share->layers * (uint64_t)kept.layers : 0;
    kept.other_params = 0;
    return kept;
}

/* llama.cpp lays out n_ctx cells for all sequences together, in one stream or one per sequence. */
static gp_amount llama_cache(const gp_job *job, const gp_model *model, const gp_layout *layout,
                             const gp_stage_share *share, double *cells) {
    const double padding = 256;
    bool unified = gp_known(job, GP_FIELD_KV_UNIFIED) && gp_whole(job, GP_FIELD_KV_UNIFIED) != 0;
    double all = (double)layout->context * (double)layout->sequences;
    double streams = unified ? 1 : number(job, GP_FIELD_SEQUENCES, 1);
    *cells = ceil(all / streams / padding) * padding;
    return gp_kv_cache_amount((double)share->layers, (double)share->kv_heads, (double)model->shape.head_dim, streams,
                              all / streams, padding, layout->recipe.kv_bits);
}

static void add_llama(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    const double library_ubatch = 512;
    const gp_stage_share *share = &ledger->share;
    double cells = 0;
    gp_amount cache = llama_cache(job, model, layout, share, &cells);
    gp_ledger_append(ledger, GP_ITEM_KV_CACHE, SERVING, cache, spread_cache);
    double ubatch = fmin(number(job, GP_FIELD_UBATCH, library_ubatch), cells);
    double outputs = share->last ? fmin(number(job, GP_FIELD_OUTPUTS_MAX, ubatch), ubatch) : 0;
    bool flash = gp_known(job, GP_FIELD_FLASH_ATTENTION) && gp_whole(job, GP_FIELD_FLASH_ATTENTION) != 0;
    gp_engine_widths widths = widths_of(model, layout, share);
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, SERVING,
                     gp_workspace_llama_amount(&widths, ubatch, outputs, cells, flash, model->shape.gated_ffn),
                     spread_workspace);
}

static void add_transformers(const gp_job *job, const gp_model *model, const gp_layout *layout,
                             gp_stage_ledger *ledger) {
    const gp_stage_share *share = &ledger->share;
    gp_amount cache = gp_kv_cache_amount((double)share->layers, (double)share->kv_heads,
                                         (double)model->shape.head_dim, (double)layout->sequences,
                                         (double)layout->context, 1, layout->recipe.kv_bits);
    gp_ledger_append(ledger, GP_ITEM_KV_CACHE, SERVING, cache, spread_cache);
    double prompt = fmin(number(job, GP_FIELD_PROMPT, 0), (double)layout->context);
    double tokens = prompt * (double)layout->sequences;
    double logit_tokens = layout->recipe.prompt_logits ? tokens : (double)layout->sequences;
    double layer_cache = (double)cache.bytes / (double)share->layers;
    gp_engine_widths widths = widths_of(model, layout, share);
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, PREFILL,
                     gp_workspace_transformers_amount(&widths, tokens, logit_tokens, floor(layer_cache)),
                     spread_workspace);
}

static void add_paged(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    const double block = 16, mib_per_layer = 18;
    const gp_stage_share *share = &ledger->share;
    gp_amount cache = gp_kv_cache_amount((double)share->layers, (double)share->kv_heads,
                                         (double)model->shape.head_dim, (double)layout->sequences,
                                         (double)layout->context, block, layout->recipe.kv_bits);
    gp_ledger_append(ledger, GP_ITEM_KV_CACHE, SERVING, cache, spread_cache);
    gp_engine_widths widths = widths_of(model, layout, share);
    const gp_recipe *recipe = &layout->recipe;
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, SERVING,
                     gp_workspace_paged_amount(&widths, recipe->batched_tokens, recipe->prepared_sequences),
                     spread_workspace);
    bool eager = gp_known(job, GP_FIELD_ENFORCE_EAGER) && gp_whole(job, GP_FIELD_ENFORCE_EAGER) != 0;
    if (!eager)
        gp_ledger_append(ledger, GP_ITEM_GRAPHS, SERVING, gp_graphs_amount((double)share->layers, mib_per_layer),
                         spread_workspace);
}

static void add_overhead(const gp_layout *layout, gp_stage_ledger *ledger) {
    const double context_mib = 400, group_mib = 380;
    if (layout->recipe.on_host) return;
    gp_ledger_append(ledger, GP_ITEM_CONTEXT, ALWAYS, gp_context_amount(context_mib), spread_context);
    if (layout->tp > 1)
        gp_ledger_append(ledger, GP_ITEM_COMM_BUFFERS, SERVING, gp_comm_amount(1, group_mib), spread_context);
}

void gp_ledger_inference(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    ledger->phases = ALWAYS;
    gp_amount weights = gp_weights_amount(&ledger->share, recipe, 1);
    if (recipe->engine == GP_ENGINE_LLAMA_CPP) {
        uint64_t all = weights.bytes;
        ledger->share = on_devices(job, model, &ledger->share);
        weights = gp_weights_amount(&ledger->share, recipe, 1);
        ledger->host_bytes = gp_sub_or_zero(all, weights.bytes);
    }
    gp_ledger_append(ledger, GP_ITEM_WEIGHTS, ALWAYS, weights, spread_weights);
    if (recipe->engine == GP_ENGINE_LLAMA_CPP)
        add_llama(job, model, layout, ledger);
    else if (recipe->engine == GP_ENGINE_TRANSFORMERS)
        add_transformers(job, model, layout, ledger);
    else
        add_paged(job, model, layout, ledger);
    add_overhead(layout, ledger);
}
