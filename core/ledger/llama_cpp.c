#include "ledger/llama_cpp.h"

#include <math.h>

#include "formulas/formulas.h"
#include "base/quantity.h"
#include "model/quantize.h"

enum {
    ALWAYS = GP_PHASE_BIT(GP_PHASE_LOAD) | GP_PHASE_BIT(GP_PHASE_PREFILL) | GP_PHASE_BIT(GP_PHASE_DECODE),
    SERVING = GP_PHASE_BIT(GP_PHASE_PREFILL) | GP_PHASE_BIT(GP_PHASE_DECODE),
    NEVER = 0
};

static const double padding = 256;
static const double spread_weights = 0.005, spread_cache = 0.005, spread_workspace = 0.06;

static double number(const gp_job *job, gp_field field, double fallback) {
    return gp_known(job, field) ? (double)gp_whole(job, field) : fallback;
}

static bool is_on(const gp_job *job, gp_field field, bool fallback) {
    return gp_known(job, field) ? gp_whole(job, field) != 0 : fallback;
}

/* What the options of one context come to. n_ctx holds the tokens of all sequences, in one stream of cells or one for
 * each sequence. */
typedef struct {
    double sequences, streams, cells, ubatch;
    bool flash, whole_windows;
} context_options;

static context_options options_of(const gp_job *job, const gp_layout *layout) {
    const double library_ubatch = 512, library_batch = 2048;
    context_options options = {.sequences = number(job, GP_FIELD_SEQUENCES, (double)layout->sequences)};
    options.streams = is_on(job, GP_FIELD_KV_UNIFIED, false) ? 1 : options.sequences;
    double tokens = (double)layout->context * (double)layout->sequences;
    options.cells = ceil(tokens / options.streams / padding) * padding;
    double batch = number(job, GP_FIELD_BATCH_TOKENS, library_batch);
    options.ubatch = fmin(fmin(number(job, GP_FIELD_UBATCH, library_ubatch), batch), options.cells * options.streams);
    options.flash = is_on(job, GP_FIELD_FLASH_ATTENTION, true);
    options.whole_windows = is_on(job, GP_FIELD_SWA_FULL, false);
    return options;
}

/* Windowed layers have a cache of their own: the window, of every sequence where they share a stream, and one
 * micro-batch. */
static double window_cells(const context_options *options, double window) {
    double shared = options->sequences / options->streams;
    return ceil(fmin(options->cells, window * shared + options->ubatch) / padding) * padding;
}

/* llama.cpp sends the last layers to the devices when it sends fewer than all (--gpu-layers; one more than the layers
 * sends the output matrix too). */
typedef struct {
    int64_t first, count;
    bool all;
} sent_layers;

static sent_layers sent_of(const gp_job *job, const gp_model *model, const gp_layout *layout,
                           const gp_stage_share *share) {
    int64_t layers = model->shape.layers, sent = layers + 1;
    if (gp_known(job, GP_FIELD_GPU_LAYERS)) sent = gp_whole(job, GP_FIELD_GPU_LAYERS);
    sent_layers result = {gp_first_layer(model, layout, share->index), share->layers, sent > layers};
    if (result.all || layout->recipe.on_host) return result;
    int64_t kept = share->layers * sent / layers;
    result.first += share->layers - kept;
    result.count = kept;
    return result;
}

/* The token table stays in host memory, where its rows are looked up, unless the device is the host or shares its
 * memory; a table that serves as output matrix too is there twice. */
static bool keeps_table(const gp_recipe *recipe) { return recipe->on_host || recipe->unified_memory; }

/* Routed experts and all matrices of some layers. */
typedef struct { double experts, all; } layer_params;

static layer_params params_of(const gp_model *model, int64_t first, int64_t count) {
    int64_t layers[GP_KINDS_MAX];
    layer_params params = {0, 0};
    gp_model_kinds_of(model, first, count, layers);
    for (int kind = 0; kind < model->kind_count; kind++) {
        params.experts += (double)layers[kind] * (double)model->kinds[kind].expert_params;
        params.all += (double)layers[kind] * (double)model->kinds[kind].linear_params;
    }
    return params;
}

/* Bytes of the file that `held` parameters of experts take: of the first layers by these layers' own types, else by those of
 * all that are sent. */
static uint64_t held_bytes(const gp_model *model, const gp_recipe *recipe, const sent_layers *sent, double held) {
    int64_t count = sent->count;
    if (!recipe->placed_by_rules && recipe->host_expert_layers < sent->first + count) count = recipe->host_expert_layers - sent->first;
    double matrices = params_of(model, sent->first, count).all;
    double bytes = (double)gp_recipe_file_layers(model, recipe, sent->first, count);
    return matrices > 0 ? (uint64_t)(bytes * fmin(1, held / matrices)) : 0;
}

static gp_amount file_weights(const gp_model *model, const gp_layout *layout, const sent_layers *sent,
                              gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    const gp_stage_share *share = &ledger->share;
    bool tied = recipe->file_output == 0, ends = sent->all || recipe->on_host, table = keeps_table(recipe);
    gp_file_share file = {.imported = recipe->mix_layers > 0}, host = file;
    file.layers = gp_recipe_file_layers(model, recipe, sent->first, sent->count);
    double held = gp_recipe_held_experts(model, recipe, sent->first, sent->count);
    uint64_t experts = held > 0 ? held_bytes(model, recipe, sent, held) : 0;
    file.layers = gp_sub_or_zero(file.layers, experts);
    if (share->last && ends) file.output = tied && !table ? recipe->file_embedding : recipe->file_output;
    if (share->last && ends) file.ends = recipe->file_ends;
    if (share->first && table) file.embedding = recipe->file_embedding;
    if (share->first && !table) host.embedding = recipe->file_embedding;
    int64_t before = gp_first_layer(model, layout, share->index);
    if (sent->first > before) host.layers += gp_recipe_file_layers(model, recipe, before, sent->first - before);
    if (share->last && !ends) {
        host.output = recipe->file_output;
        host.ends = recipe->file_ends;
    }
    gp_amount kept = gp_weights_tensors_amount(&host, 1);
    ledger->host_bytes = gp_add(kept.bytes, experts);
    if (kept.bytes > 0 && !tied)
        gp_ledger_append(ledger, GP_ITEM_WEIGHTS, NEVER, kept, spread_weights);
    return gp_weights_tensors_amount(&file, 1);
}

/* A format that is not a GGUF mix: by its bits. */
static gp_amount format_weights(const gp_model *model, const gp_layout *layout, const sent_layers *sent,
                                gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    const gp_stage_share *share = &ledger->share;
    gp_amount whole = gp_weights_amount(share, recipe, 1);
    bool some = sent->count < share->layers;
    if (recipe->on_host) return whole;
    gp_stage_share kept = *share;
    uint64_t layers = share->layers > 0 ? (uint64_t)share->layers : 1, count = (uint64_t)sent->count;
    uint64_t table = gp_mul((uint64_t)model->shape.vocab, (uint64_t)model->shape.hidden);
    if (some) kept.linear_params = share->linear_params / layers * count;
    kept.expert_params = some ? share->expert_params / layers * count : share->expert_params;
    double experts = params_of(model, sent->first, sent->count).experts;
    if (experts > 0) {
        double held = gp_recipe_held_experts(model, recipe, sent->first, sent->count) / experts;
        uint64_t left = (uint64_t)((double)kept.expert_params * held);
        kept.linear_params = gp_sub_or_zero(kept.linear_params, left);
        kept.expert_params = gp_sub_or_zero(kept.expert_params, left);
    }
    if (some) kept.other_params = 0;
    if (!some && share->first && !keeps_table(recipe) && !model->shape.tied_embeddings)
        kept.other_params = gp_sub_or_zero(kept.other_params, table);
    gp_amount weights = gp_weights_amount(&kept, recipe, 1);
    ledger->host_bytes = gp_sub_or_zero(whole.bytes, weights.bytes);
    return weights;
}

/* What ik_llama.cpp holds beside the tensors of the job's format: of latent attention both forms of its second matrix,
 * and where that format is said of the experts alone, routers in 32 bits. */
static void add_ik_weights(const gp_model *model, const gp_layout *layout, const sent_layers *sent,
                           gp_stage_ledger *ledger) {
    const double router_bits = 32;
    const gp_recipe *recipe = &layout->recipe;
    const gp_latent *latent = &model->shape.latent;
    int64_t of_kind[GP_KINDS_MAX];
    double latent_layers = 0, routers = 0;
    gp_model_kinds_of(model, sent->first, sent->count, of_kind);
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer *layer = &model->kinds[i];
        double layers = (double)of_kind[i];
        if (layer->kind.attention == GP_ATTENTION_LATENT) latent_layers += layers;
        if (layer->expert_params > 0) routers += layers * (double)model->shape.experts.count * (double)model->shape.hidden;
    }
    double bits = recipe->experts_only ? recipe->other_bits : recipe->linear_bits;
    double width = (double)model->shape.heads * (double)(latent->nope + latent->value) * (double)latent->kv_lora;
    if (latent_layers > 0)
        gp_ledger_append(ledger, GP_ITEM_WEIGHTS, ALWAYS, gp_weights_ik_latent_amount(latent_layers, width, bits), spread_weights);
    if (recipe->experts_only && routers > 0)
        gp_ledger_append(ledger, GP_ITEM_WEIGHTS, ALWAYS, gp_weights_routers_amount(routers, router_bits - bits), spread_weights);
}

/* The cache of layers that are not sent lies in host memory, where they are computed. */
typedef struct {
    const gp_recipe *recipe;
    const context_options *options;
    bool on_host;
} cache_place;

static void keep_cache(const cache_place *at, gp_amount amount, gp_stage_ledger *ledger) {
    if (at->on_host)
        ledger->host_cache_bytes = gp_add(ledger->host_cache_bytes, amount.bytes);
    else
        gp_ledger_append(ledger, GP_ITEM_KV_CACHE, SERVING, amount, spread_cache);
}

/* Compressed entries and the keys of their indexer, which has the type of the cache here. Returns the cells of both. */
static double add_entries(const gp_cache_group *group, const cache_place *at, gp_stage_ledger *ledger) {
    const gp_recipe *recipe = at->recipe;
    const context_options *options = at->options;
    double block = padding * (double)group->stride, cells = ceil(options->cells / block) * padding;
    gp_cache_group index = *group;
    index.elements = group->index;
    index.rotary = 0;
    gp_amount entries = gp_kv_cache_amount(group, options->sequences, options->cells, block, recipe->kv_bits);
    keep_cache(at, entries, ledger);
    if (index.elements == 0) return cells;
    gp_amount keys = gp_kv_cache_amount(&index, options->sequences, options->cells, block, recipe->kv_bits);
    keep_cache(at, keys, ledger);
    return 2 * cells;
}

/* The last tokens of compressed layers and one micro-batch, for each sequence whatever the streams. Returns the cells. */
static double add_recent(const gp_cache_group *group, const cache_place *at, gp_stage_ledger *ledger) {
    const gp_recipe *recipe = at->recipe;
    const context_options *options = at->options;
    gp_cache_group recent = *group;
    double cells = options->cells;
    if (!options->whole_windows)
        cells = ceil(fmin(cells, (double)group->window + options->ubatch) / padding) * padding;
    recent.window = (int64_t)cells;
    gp_amount amount = gp_kv_cache_amount(&recent, options->sequences, options->cells, padding, recipe->kv_bits);
    keep_cache(at, amount, ledger);
    return cells;
}

/* Appends the caches; returns the cells that the masks cover. */
static double add_caches(const gp_cache *cache, const cache_place *at, gp_stage_ledger *ledger) {
    const gp_recipe *recipe = at->recipe;
    const context_options *options = at->options;
    double full = 0, windowed = 0;
    for (int i = 0; i < cache->count; i++) {
        gp_cache_group group = cache->groups[i];
        if (group.stride > 1) {
            full = fmax(full, add_entries(&group, at, ledger));
            continue;
        }
        if (group.recent) {
            windowed = add_recent(&group, at, ledger);
            continue;
        }
        bool limited = group.window > 0 && !recipe->ignores_windows && !options->whole_windows;
        double cells = limited ? window_cells(options, (double)group.window) : options->cells;
        if (group.window > 0 && !recipe->ignores_windows)
            windowed = cells;
        else
            full = cells;
        group.window = limited ? (int64_t)cells : 0;
        gp_amount amount = gp_kv_cache_amount(&group, options->streams, options->cells, padding, recipe->kv_bits);
        keep_cache(at, amount, ledger);
    }
    return full + windowed;
}

/* Experts beside the stream, its norm, the sum and, after attention, the queries' place; without it a mask (elements for a
 * token) below a hidden row leaves a gap of the rest. Gates, ups and their product lie side by side once one of them is
 * wider than the free places before them; the downs take the place of the former two where they fit in it, else stand
 * behind them (ggml/src/ggml-alloc.c gives a tensor the smallest free place that holds it). Sixty shapes measured with the
 * engine agree to 1 % in the median. Biases, shared experts and latent attention change the order. */
static double experts_width(const gp_shape *shape, const gp_layer_kind *kind, double mask) {
    double hidden = (double)shape->hidden, chosen = (double)shape->experts.topk, ffn = (double)shape->experts.ffn;
    double one = chosen * ffn, downs = chosen * hidden;
    bool plain = !shape->experts.bias && shape->experts.shared_ffn == 0 && shape->latent.kv_lora == 0;
    if (!plain) return fmax(3 * one + (chosen + 2) * hidden, (2 * chosen + 6) * hidden);
    double queries = kind->attention == GP_ATTENTION_NONE ? 0 : (double)kind->heads * (double)kind->head_dim;
    double beside = 3 * hidden + (queries > 0 ? queries : fmax(0, hidden - mask));
    if (one <= hidden) return beside + fmax(downs, 2 * one);
    return beside + 3 * one + (2 * ffn < hidden ? downs : 0);
}

static double widest_ffn(const gp_model *model, const gp_recipe *recipe, double mask) {
    const gp_shape *shape = &model->shape;
    double hidden = (double)shape->hidden, query = (double)shape->heads * (double)shape->head_dim, widest = 0;
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer_kind *kind = &model->kinds[i].kind;
        double width = 0;
        if (kind->feed_forward == GP_FFN_DENSE || kind->feed_forward == GP_FFN_MOE_BESIDE_DENSE)
            width = (shape->gated_ffn ? 3 : 1) * (double)kind->ffn + recipe->ffn_rows * hidden;
        if (kind->feed_forward == GP_FFN_DENSE && recipe->ffn_query) width += query;
        if (kind->feed_forward == GP_FFN_MOE || kind->feed_forward == GP_FFN_MOE_BESIDE_DENSE)
            width = fmax(width, experts_width(shape, kind, mask));
        widest = fmax(widest, width);
    }
    return widest;
}

static double attention_width(const gp_shape *shape, const gp_layer_kind *kind, bool few_rows) {
    double hidden = (double)shape->hidden, heads = (double)kind->heads, query = heads * (double)kind->head_dim;
    const gp_latent *latent = &shape->latent;
    if (kind->attention == GP_ATTENTION_LATENT)
        return heads * (double)(2 * latent->kv_lora + 2 * latent->rope + latent->nope + latent->value) + 4 * hidden;
    if (few_rows) return 4 * hidden;
    double output = heads * (double)kind->value_dim;
    return (shape->q_gate ? 2 : 1) * query + output + 3 * hidden +
           (double)kind->kv_heads * (double)(kind->head_dim + kind->value_dim);
}

/* Mamba: inputs and gate, both again after the convolution, time steps, and the scan's result in part. Mamba 2: the
 * projection, the convolved part and the scan. */
static void widen_for_recurrence(const gp_shape *shape, const gp_layer *layer, double sequences,
                                 gp_llama_widths *widths) {
    const gp_state_space *ssm = &shape->recurrent;
    double inner = (double)ssm->inner, hidden = (double)shape->hidden, width = 0, state = 0;
    if (layer->kind.recurrence == GP_RECURRENCE_MAMBA) width = 6.5 * inner;
    if (layer->kind.recurrence == GP_RECURRENCE_MAMBA2) {
        double projected = 2 * inner + 2 * (double)ssm->groups * (double)ssm->state + (double)ssm->heads;
        width = projected + 4 * inner + 2 * hidden;
        state = 4 * (double)layer->recurrent_state * sequences;
    }
    widths->recurrent = fmax(widths->recurrent, width);
    widths->scan_bytes = fmax(widths->scan_bytes, state);
}

static void add_workspace(const gp_job *job, const gp_model *model, const gp_layout *layout,
                          const context_options *options, const sent_layers *sent, double masked,
                          gp_stage_ledger *ledger) {
    const gp_shape *shape = &model->shape;
    const gp_recipe *recipe = &layout->recipe;
    gp_llama_widths widths = {.tokens = options->ubatch, .hidden = (double)shape->hidden,
                              .vocab = (double)shape->vocab, .kept = recipe->logit_rows};
    double guessed = 1 + number(job, GP_FIELD_DRAFT_TOKENS, 0);
    double wanted = number(job, GP_FIELD_OUTPUTS_MAX, recipe->few_outputs ? options->sequences * guessed : options->ubatch);
    widths.outputs = ledger->share.last ? fmin(wanted, options->ubatch) : 0;
    widths.mask = (options->flash ? 2 : 4) * options->ubatch * masked;
    if (recipe->before_scheduler) {
        const double tensor_bytes = 368, nodes = 8192, graph_bytes = 204472; /* ggml.h and LLAMA_MAX_NODES of the time */
        double objects = recipe->unified_memory ? nodes * tensor_bytes + graph_bytes : 0;
        widths.ffn = (double)shape->ffn;
        gp_ledger_append(ledger, GP_ITEM_WORKSPACE, SERVING,
                         gp_workspace_llama_2023_amount(&widths, options->cells, objects), spread_workspace);
        return;
    }
    double rows = 4 * options->ubatch * widths.hidden;
    if (recipe->mask_gap && widths.mask < rows) widths.kept += 2 + widths.mask / rows;
    widths.ffn = widest_ffn(model, recipe, widths.mask / (4 * options->ubatch));
    for (int i = 0; i < model->kind_count; i++) {
        const gp_layer *layer = &model->kinds[i];
        if (layer->cache_keys > 0 || layer->kind.shares_kv) {
            widths.attention = fmax(widths.attention, attention_width(shape, &layer->kind, recipe->few_rows));
            bool limited = layer->window > 0 && !recipe->ignores_windows && !options->whole_windows;
            double cells = limited ? window_cells(options, (double)layer->window) : options->cells;
            if (!options->flash) widths.score_cells = fmax(widths.score_cells, (double)layer->kind.heads * cells);
        }
        widen_for_recurrence(shape, layer, options->sequences, &widths);
    }
    gp_amount amount = gp_workspace_llama_amount(&widths);
    /* ik_llama.cpp expands the latents of a prompt's context. */
    const gp_latent *latent = &shape->latent;
    if (latent->kv_lora > 0 && options->flash && gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_IK_LLAMA_CPP)) {
        gp_ik_latent_widths of = {.cells = options->cells,
                                  .whole = (double)shape->heads * (double)(latent->nope + latent->rope + latent->value),
                                  .made = (double)shape->heads * (double)(latent->nope + latent->value)};
        gp_amount expanded = gp_workspace_ik_latent_amount(&widths, &of);
        if (expanded.bytes > amount.bytes) amount = expanded;
    }
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, SERVING, amount, spread_workspace);
    if (layout->pp > 1 && sent->all && gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_LLAMA_CPP))
        gp_ledger_append(ledger, GP_ITEM_WORKSPACE, SERVING, gp_workspace_llama_copies_amount(&widths), spread_workspace);
}

void gp_ledger_llama(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    sent_layers sent = sent_of(job, model, layout, &ledger->share);
    gp_amount weights = recipe->mix >= 0 ? file_weights(model, layout, &sent, ledger)
                                         : format_weights(model, layout, &sent, ledger);
    gp_ledger_append(ledger, GP_ITEM_WEIGHTS, ALWAYS, weights, spread_weights);
    bool ik = gp_is_choice(job, GP_FIELD_ENGINE, GP_CHOICE_ENGINE_IK_LLAMA_CPP);
    if (ik && !(recipe->file_bytes > 0)) add_ik_weights(model, layout, &sent, ledger);
    context_options options = options_of(job, layout);
    gp_cache cache;
    gp_cache_of(model, 1, sent.first, sent.count, &cache);
    cache_place at = {recipe, &options, false};
    double masked = add_caches(&cache, &at, ledger);
    if (gp_cache_has_states(&cache))
        gp_ledger_append(ledger, GP_ITEM_RECURRENT_STATE, SERVING,
                         gp_recurrent_state_amount(&cache, options.sequences, 1, 4, 4), spread_cache);
    add_workspace(job, model, layout, &options, &sent, masked, ledger);
    int64_t before = gp_first_layer(model, layout, ledger->share.index);
    if (recipe->on_host || sent.first <= before) return;
    gp_cache_of(model, 1, before, sent.first - before, &cache);
    at.on_host = true;
    add_caches(&cache, &at, ledger);
}
