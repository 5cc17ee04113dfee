/* ledger_training.c: one stage of a training step. Weights, master copy and states are there throughout; activations
 * from forward to backward; logits around the loss; gradients from backward on, or always where they are accumulated. */
#include <math.h>

#include "ledger/activations.h"
#include "formulas/formulas.h"
#include "ledger/ledger.h"

enum {
    FORWARD = GP_PHASE_BIT(GP_PHASE_FORWARD), LOSS = GP_PHASE_BIT(GP_PHASE_LOSS),
    BACKWARD = GP_PHASE_BIT(GP_PHASE_BACKWARD), REDUCE = GP_PHASE_BIT(GP_PHASE_REDUCE),
    OPTIMIZER = GP_PHASE_BIT(GP_PHASE_OPTIMIZER),
    STEP = FORWARD | LOSS | BACKWARD | REDUCE | OPTIMIZER,
    ALWAYS = GP_PHASE_BIT(GP_PHASE_LOAD) | STEP
};

/* Half-widths of the 90 % range, relative to an item's bytes. */
static const double spread_states = 0.005, spread_activations = 0.12, spread_logits = 0.15, spread_buffers = 0.30,
                    spread_context = 0.40, spread_fragmentation = 0.7;

static const double context_mib = 500;

/* Where a state goes, and what of it is trained on this rank. */
typedef struct {
    const gp_layout *layout;
    const gp_recipe *recipe;
    const gp_stage_share *share;
    double shards[4];           /* by the ZeRO stage from which a state is sharded */
    double params, matrix_params; /* trained on this rank */
} states;

static bool is_block_wise(const gp_job *job) {
    return gp_is_choice(job, GP_FIELD_OPTIMIZER, GP_CHOICE_OPTIMIZER_BADAM) && !gp_is_adapter(job);
}

static states states_of(const gp_job *job, const gp_layout *layout, const gp_stage_share *share) {
    states s = {.layout = layout, .recipe = &layout->recipe, .share = share};
    double ranks = (double)gp_layout_shards(layout);
    for (int stage = 1; stage <= 3; stage++) s.shards[stage] = layout->zero >= stage ? ranks : 1;
    if (layout->recipe.fsdp) s.shards[3] = s.shards[2];
    s.params = (double)gp_add(share->linear_params, share->other_params);
    s.matrix_params = (double)share->linear_params;
    if (!is_block_wise(job)) return s;
    /* BAdam trains one block, a layer, at a time (Luo et al. 2024, arXiv:2404.02827). */
    s.params = (double)share->layer_params;
    s.matrix_params = (double)share->layer_params;
    return s;
}

/* With expert parallelism the routed experts have fewer copies to be sharded over than the rest: Megatron-LM's
 * expert-data-parallel group (core/parallel_state.py). They get rows of their own. */
static bool divides_experts(const gp_layout *layout, const gp_stage_share *share) {
    return layout->ep > 1 && share->expert_params > 0 && !layout->recipe.factored_optimizer;
}

/* The stage without its routed experts, or only these. */
static gp_stage_share part_of(const gp_stage_share *share, bool experts) {
    gp_stage_share part = *share;
    if (experts) {
        part.linear_params = share->expert_params;
        part.other_params = part.embedding_params = part.head_params = 0;
    } else {
        part.linear_params = gp_sub_or_zero(share->linear_params, share->expert_params);
    }
    return part;
}

static states states_of_part(const gp_job *job, const gp_layout *layout, const gp_stage_share *part, bool experts) {
    states s = states_of(job, layout, part);
    if (!experts) return s;
    for (int stage = 1; stage <= 3; stage++)
        s.shards[stage] = layout->zero >= stage ? (double)part->expert_ranks : 1;
    if (layout->recipe.fsdp) s.shards[3] = s.shards[2];
    return s;
}

static void place(gp_stage_ledger *ledger, gp_item_id id, unsigned phases, gp_amount amount, bool on_host) {
    if (on_host)
        ledger->host_bytes = gp_add(ledger->host_bytes, amount.bytes);
    else
        gp_ledger_append(ledger, id, phases, amount, spread_states);
}

static unsigned gradient_phases(const gp_layout *layout) { return gp_gradients_last(layout) ? STEP : REDUCE | OPTIMIZER; }

/* Of the stage's layers together: norms and biases by element, matrices by row and column. */
static double rows_and_columns(const gp_model *model, const gp_stage_share *share) {
    int64_t layers[GP_KINDS_MAX];
    double all = 0;
    gp_model_kinds_of(model, share->first_layer, share->layers, layers);
    for (int kind = 0; kind < model->kind_count; kind++) {
        const gp_layer *layer = &model->kinds[kind];
        double sum = (double)layer->norm_params + (double)layer->bias_params;
        for (int i = 0; i < layer->matrix_count; i++) {
            const gp_matrix *matrix = &layer->matrices[i];
            sum += ((double)matrix->inputs + (double)matrix->outputs) * (double)matrix->copies;
        }
        all += sum * (double)layers[kind];
    }
    return all;
}

static gp_amount optimizer_amount(const gp_job *job, const gp_model *model, const states *s) {
    const gp_recipe *recipe = s->recipe;
    double shards = s->shards[1], bytes = recipe->optimizer_bytes;
    double other = s->params - s->matrix_params;
    bool muon = gp_is_choice(job, GP_FIELD_OPTIMIZER, GP_CHOICE_OPTIMIZER_MUON);
    if (recipe->factored_optimizer) {
        double ends = (double)(model->shape.vocab + model->shape.hidden);
        double tables = (s->share->embedding_params > 0 ? 1 : 0) + (s->share->head_params > 0 ? 1 : 0);
        double layers = (double)s->share->layers, each = rows_and_columns(model, s->share) / layers;
        return gp_optimizer_factored_amount(layers * (double)s->share->copies, each, ends * tables, shards);
    }
    /* Muon leaves embeddings, head and norms to Adam. */
    return gp_optimizer_amount(s->matrix_params, bytes, other, muon ? 2 * bytes : bytes, shards);
}

/* What has a gradient at one time where the optimizer steps within backward: a layer, or an end. */
static double largest_unit(const states *s) {
    double ends = fmax((double)s->share->embedding_params, (double)s->share->head_params);
    return fmin(s->params, fmax(ends, (double)s->share->layer_params));
}

static void add_full_states(const gp_job *job, const gp_model *model, const states *s, bool made,
                            gp_stage_ledger *ledger) {
    const gp_recipe *recipe = s->recipe;
    bool fused = recipe->steps_in_backward;
    unsigned alive = fused ? REDUCE : gradient_phases(s->layout);
    double stepped = fused ? largest_unit(s) : s->params;
    place(ledger, GP_ITEM_WEIGHTS, ALWAYS, gp_weights_amount(s->share, recipe, s->shards[3]), recipe->weights_on_host);
    if (!made)
        place(ledger, GP_ITEM_GRADIENTS, alive, gp_gradients_amount(stepped, recipe->gradient_bytes, s->shards[2]),
              recipe->gradients_on_host);
    if (recipe->master_bytes > 0)
        place(ledger, GP_ITEM_MASTER_WEIGHTS, ALWAYS, gp_master_amount(s->params, recipe->master_bytes, s->shards[1]),
              recipe->master_on_host);
    place(ledger, GP_ITEM_OPTIMIZER, STEP, optimizer_amount(job, model, s), recipe->optimizer_on_host);
    gp_ledger_optimizer_step(job, model, s->layout, stepped, s->shards[1], ledger);
}

/* ZeRO-1 and -2 leave frozen weights whole on every rank. A packed tensor can be divided once it is stored in a type that
 * the sharding knows (bitsandbytes quant_storage, which PEFT sets and a plain DeepSpeed run does not), but not the scales
 * beside it. */
static void add_frozen_weights(const states *s, gp_stage_ledger *ledger) {
    gp_recipe recipe = *s->recipe;
    bool divides = !recipe.packed_frozen || recipe.shards_packed;
    double shards = divides ? s->shards[3] : 1;
    if (recipe.packed_frozen && (shards > 1 || recipe.weights_on_host)) {
        double scale_bits = recipe.linear_bits - floor(recipe.linear_bits);
        recipe.linear_bits -= scale_bits;
        gp_ledger_append(ledger, GP_ITEM_WEIGHTS, ALWAYS, gp_scales_amount((double)s->share->linear_params, scale_bits),
                         spread_states);
    }
    place(ledger, GP_ITEM_WEIGHTS, ALWAYS, gp_weights_amount(s->share, &recipe, shards), recipe.weights_on_host);
}

/* Of the adapters of one layer in the mean: both matrices of each have a row or a column per rank. */
static double adapter_ends(const gp_job *job, const gp_model *model, const gp_stage_share *share) {
    int64_t layers[GP_KINDS_MAX];
    double rank = (double)gp_whole(job, GP_FIELD_LORA_RANK), all = 0;
    gp_model_kinds_of(model, share->first_layer, share->layers, layers);
    for (int kind = 0; kind < model->kind_count; kind++)
        for (int i = 0; i < model->kinds[kind].matrix_count; i++) {
            const gp_matrix *matrix = &model->kinds[kind].matrices[i];
            double ends = (double)matrix->inputs + (double)matrix->outputs + 2 * rank;
            if (gp_adapts(job->lora_targets, matrix)) all += ends * (double)matrix->copies * (double)layers[kind];
        }
    return all / (double)share->layers;
}

/* What a step keeps for each parameter of the adapters: on the device whole, on the device sharded, and on the host. */
static void add_adapters(const states *s, double gradient, gp_stage_ledger *ledger) {
    const gp_recipe *recipe = s->recipe;
    int zero = s->layout->zero;
    double host = (recipe->optimizer_on_host ? recipe->optimizer_bytes : 0) + (recipe->master_on_host ? recipe->master_bytes : 0);
    double all = recipe->adapter_bytes + recipe->master_bytes + recipe->optimizer_bytes - host;
    if (recipe->gradients_on_host) host += gradient;
    else all += gradient;
    double kept = (zero < 3 ? recipe->adapter_bytes : 0) + (zero < 2 && !recipe->gradients_on_host ? gradient : 0);
    double params = (double)s->share->adapter_params;
    place(ledger, GP_ITEM_ADAPTER, ALWAYS, gp_adapter_amount(params, kept, all - kept, s->shards[1]), recipe->weights_on_host);
    place(ledger, GP_ITEM_ADAPTER, ALWAYS, gp_adapter_amount(params, 0, host, s->shards[1]), true);
}

static void add_adapter_states(const gp_job *job, const gp_model *model, const states *s, bool made,
                               gp_stage_ledger *ledger) {
    const gp_recipe *recipe = s->recipe;
    add_frozen_weights(s, ledger);
    add_adapters(s, made ? 0 : recipe->gradient_bytes, ledger);
    if (recipe->factored_optimizer)
        place(ledger, GP_ITEM_OPTIMIZER, STEP,
              gp_optimizer_factored_amount((double)s->share->layers, adapter_ends(job, model, s->share), 0, s->shards[1]),
              recipe->optimizer_on_host);
    gp_ledger_optimizer_step(job, model, s->layout, (double)s->share->adapter_params, s->shards[1], ledger);
}

/* FSDP that does not reshard after forward (its kind of ZeRO-2) holds its weights whole from there on. So does a
 * pipeline under FSDP, for all micro-batches, and sums whole gradients until the last. */
static bool stays_gathered(const states *s) {
    return s->recipe->fsdp && s->shards[3] > 1 && (s->layout->pp > 1 || s->layout->zero == 2);
}

static void add_whole_stage(const gp_job *job, const states *s, gp_stage_ledger *ledger) {
    bool sums = s->layout->pp > 1 && !gp_is_adapter(job);
    double weight = s->recipe->linear_bits < 16 ? s->recipe->linear_bits / 8 : 2;
    gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, FORWARD | LOSS | BACKWARD | REDUCE,
                     gp_gather_stage_amount(s->params, weight, sums ? s->recipe->gradient_bytes : 0), spread_buffers);
}

/* FSDP2 copies what it gathers into the tensors of the parameters, so one unit is whole beside the buffers of the
 * gathering stream, and reduces a unit's gradient after it has let go of the unit. */
static void add_copied(const states *s, gp_stage_ledger *ledger) {
    double gradient = s->recipe->reduce_bytes, layer = (double)s->share->layer_params;
    double end = s->share->head_params > 0 ? (double)s->share->head_params : (double)s->share->embedding_params;
    gp_amount layers = gp_gather_layers_amount(layer, 1, 2, gradient), ends = gp_gather_layers_amount(end, 0, 2, gradient);
    bool ends_first = s->share->head_params > 0 && ends.bytes > layers.bytes;
    gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, FORWARD | LOSS | BACKWARD | REDUCE, gp_gather_ahead_amount(end, layer, 2),
                     spread_buffers);
    gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, FORWARD | REDUCE | (ends_first ? 0 : BACKWARD), layers, spread_buffers);
    if (ends_first) gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, BACKWARD, ends, spread_buffers);
    gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, LOSS, gp_gather_ends_amount(end, 2), spread_buffers);
}

/* What ZeRO-3 and FSDP hold whole for a moment, fetched from other GPUs or from the host: two layers (DeepSpeed: as many
 * as it keeps alive, fetched ahead at the loss, too) while one is computed, and at the ends the embedding or the output
 * matrix. Where these are no units of their own, they belong to the model's, which stays whole. Frozen weights have no
 * gradients. */
static void add_gathered(const gp_job *job, const states *s, gp_stage_ledger *ledger) {
    bool frozen = gp_is_adapter(job), separate = s->recipe->framework->separate_ends;
    if (s->recipe->copies_gathered && !frozen) {
        add_copied(s, ledger);
        return;
    }
    double weight = s->recipe->linear_bits < 16 ? s->recipe->linear_bits / 8 : 2;
    double gradient = frozen ? 0 : s->recipe->reduce_bytes;
    double head = (double)s->share->head_params, embedding = (double)s->share->embedding_params;
    double end = separate && head > 0 ? head : separate ? embedding : head + embedding;
    double layer = (double)s->share->layer_params;
    /* DeepSpeed lets go of weights only beyond stage3_max_live_parameters. */
    const double live = 1e9;
    double units = s->recipe->framework->buckets && layer > 0 ? fmax(2, fmin(live, s->params) / layer) : 2;
    gp_amount layers = gp_gather_layers_amount(layer, units, weight, gradient);
    gp_amount ends = gp_gather_layers_amount(end, 1, 2, gradient);
    bool ends_first = separate && head > 0 && ends.bytes > layers.bytes;
    gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, FORWARD | REDUCE | (ends_first ? 0 : BACKWARD), layers,
                     spread_buffers);
    if (ends_first) gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, BACKWARD, ends, spread_buffers);
    gp_amount last = gp_gather_ends_amount(end, 2), ahead = gp_gather_layers_amount(layer, units, weight, 0);
    bool fetches = s->recipe->framework->buckets && ahead.bytes > last.bytes;
    gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, separate ? LOSS : FORWARD | LOSS | BACKWARD, fetches ? ahead : last,
                     spread_buffers);
}

/* Transformer Engine's fused weight gradients leave one 16-bit tensor per distinct matrix shape on the rank. */
static void add_gradient_dummies(const states *s, gp_stage_ledger *ledger) {
    if (!s->recipe->framework->main_gradients || s->recipe->kernels != GP_KERNELS_FUSED) return;
    /* All experts of a layer have the same shapes. */
    uint64_t experts = s->share->expert_params;
    double same = s->share->local_experts > 0 ? (double)experts / (double)s->share->local_experts : 0;
    double layer = ((double)(s->share->linear_params - experts) + same) / (double)(s->share->layers * s->share->copies + s->share->mtp);
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, BACKWARD | LOSS | REDUCE | FORWARD,
                     gp_gradient_dummies_amount(layer + (double)s->share->head_params, 2), spread_buffers);
}

/* Before ZeRO-1 and -2 divide the states they lay all parameters end to end. */
static void add_flat_copy(const states *s, gp_stage_ledger *ledger) {
    int zero = s->layout->zero;
    if (!s->recipe->framework->buckets || s->recipe->framework->main_gradients || zero < 1 || zero > 2) return;
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, GP_PHASE_BIT(GP_PHASE_LOAD), gp_flat_copy_amount(s->params, 4),
                     spread_buffers);
}

static void add_whole_model(const states *s, gp_stage_ledger *ledger) {
    if (!s->recipe->framework->loads_whole || !(s->shards[3] > 1)) return;
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, GP_PHASE_BIT(GP_PHASE_LOAD), gp_whole_model_amount(s->share, s->recipe),
                     spread_buffers);
}

/* ZeRO-3 copies gradients into one bucket, which is there from the start, on one GPU as well, and from it into another,
 * with room for every rank's share, before they are reduced. */
static void add_buckets(const gp_job *job, const states *s, gp_stage_ledger *ledger) {
    const double bucket_elements = 5e8;
    double trained = gp_is_adapter(job) ? (double)s->share->adapter_params : s->params;
    if (!s->recipe->framework->buckets) return;
    if (s->layout->zero >= 3) {
        gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, STEP,
                         gp_gather_buckets_amount(1, bucket_elements, s->params, 2), spread_buffers);
        gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, BACKWARD | REDUCE,
                         gp_gather_buckets_amount(1, bucket_elements, trained, 2), spread_buffers);
    } else if (s->layout->dp > 1) {
        gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, BACKWARD | REDUCE | OPTIMIZER,
                         gp_gather_buckets_amount(2, bucket_elements, s->params, 2), spread_buffers);
    }
}

/* Plain data parallelism sends gradients from buckets, which hold each once more and stay. */
static void add_copies(const gp_job *job, const states *s, gp_stage_ledger *ledger) {
    const gp_framework *framework = s->recipe->framework;
    if (s->layout->zero > 0 || s->layout->dp == 1 || framework->buckets || framework->main_gradients) return;
    double params = gp_is_adapter(job) ? (double)s->share->adapter_params : s->params;
    gp_ledger_append(ledger, GP_ITEM_GATHER_BUFFERS, STEP, gp_gather_copies_amount(params, s->recipe->gradient_bytes),
                     spread_buffers);
}

static double weight_copies(const gp_recipe *recipe, const gp_stage_share *share, gp_recompute policy) {
    if (recipe->numerics != GP_NUMERICS_AUTOCAST || policy == GP_RECOMPUTE_FULL) return 0;
    return 2 * ((double)share->linear_params + (double)share->head_params);
}

/* Where recomputation stops after some layers of a stage the others keep everything. */
static double mean_kept(const gp_recipe *recipe, const gp_stage_share *share, const gp_layer_bytes *layer) {
    double some = (double)recipe->recomputed_layers, all = (double)share->layers;
    if (!(some > 0) || some >= all) return layer->kept;
    return (some * layer->kept + (all - some) * layer->live) / all;
}

static void add_activations(const gp_job *job, const gp_model *model, const gp_layout *layout,
                            gp_stage_ledger *ledger) {
    const gp_stage_share *share = &ledger->share;
    gp_layer_bytes layer = gp_layer_activations(job, model, layout, share);
    gp_recompute policy = layout->recipe.recompute;
    double tokens = (double)layout->micro_batch * (double)layout->seq_len / (double)layout->cp;
    double in_flight = (double)share->layers / (double)layout->vpp * (double)share->in_flight;
    double most = (double)share->layers * (double)layout->grad_accum;
    /* Prediction modules are in the last chunk, of which an interleaved schedule holds one micro-batch; each keeps the rows
     * that it norms and those that it projects. */
    double modules = (double)share->mtp, predicted = modules * (layout->vpp > 1 ? 1 : (double)share->in_flight);
    gp_kept_activations kept = {.tokens = tokens,
                                .layers_in_flight = (in_flight < most ? in_flight : most) + predicted,
                                .layer_bytes = mean_kept(&layout->recipe, share, &layer),
                                .end_bytes = share->last ? layer.ends + modules * (layer.ends + 4 * layer.checkpoint) : 0,
                                .weight_copies = weight_copies(&layout->recipe, share, policy)};
    gp_amount amount = gp_activations_amount(&kept, policy);
    gp_ledger_append(ledger, GP_ITEM_ACTIVATIONS, FORWARD | LOSS | BACKWARD, amount, spread_activations);
    double recomputed = policy == GP_RECOMPUTE_NONE ? 0 : layer.live - (policy == GP_RECOMPUTE_FULL ? 0 : layer.kept);
    gp_ledger_append(ledger, GP_ITEM_WORKSPACE, BACKWARD | REDUCE,
                     gp_layer_backward_amount(tokens, recomputed > 0 ? recomputed : 0, layer.working),
                     spread_activations);
    ledger->saved_bytes = amount.bytes;
}

/* Liger's chunk of logits is about as large as all hidden states, a power of two of tokens
 * (github.com/linkedin/Liger-Kernel ops/fused_linear_cross_entropy.py). */
static double loss_chunks(const gp_recipe *recipe, double tokens, double vocab, double hidden) {
    if (recipe->loss == GP_LOSS_CHUNKED) return recipe->loss_chunks;
    if (recipe->loss != GP_LOSS_LIGER) return 1;
    double least = tokens / ceil(vocab / hidden), chunk = 1;
    while (chunk < least) chunk *= 2;
    return fmax(1, tokens / chunk);
}

/* The vocabulary is divided by tensor parallelism together with the output matrix. */
static void add_logits(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    const double log_softmax_bytes = 4;
    if (!ledger->share.last) return;
    double tokens = (double)layout->micro_batch * (double)layout->seq_len / (double)layout->cp * (double)(1 + ledger->share.mtp);
    double vocab = (double)model->shape.vocab, tp = (double)layout->tp;
    double hidden = (double)model->shape.hidden, chunks = loss_chunks(recipe, tokens, vocab, hidden);
    gp_logits logits = {.tokens = tokens, .vocab = vocab, .tp = tp, .chunks = chunks,
                        .bytes = recipe->logit_bytes, .kept_bytes = recipe->kept_logit_bytes};
    gp_amount amount = gp_logits_amount(&logits);
    if (recipe->loss != GP_LOSS_CUT) gp_ledger_append(ledger, GP_ITEM_LOGITS, LOSS, amount, spread_logits);
    if (recipe->loss == GP_LOSS_LIGER && !gp_is_adapter(job))
        gp_ledger_append(ledger, GP_ITEM_GRADIENTS, LOSS,
                         gp_gradients_amount(vocab * hidden / tp, recipe->numerics == GP_NUMERICS_16_BIT ? 2 : 4, 1),
                         spread_logits);
    if (layout->sequence_parallel && layout->tp > 1)
        gp_ledger_append(ledger, GP_ITEM_WORKSPACE, LOSS,
                         gp_gathered_sequence_amount(tokens, hidden, recipe->activation_bytes),
                         spread_activations);
    double kept = recipe->loss == GP_LOSS_FULL ? log_softmax_bytes : recipe->kept_logit_bytes;
    ledger->saved_bytes = gp_add(ledger->saved_bytes, gp_bytes_from_double(kept * tokens * vocab / tp));
}

/* The 16-bit logits are given up before the fp32 tensors of their gradient are made, none of which fits in their place. */
static uint64_t left_at_loss(const gp_model *model, const gp_layout *layout, const gp_stage_share *share) {
    const gp_recipe *recipe = &layout->recipe;
    if (!share->last || recipe->loss != GP_LOSS_FULL || recipe->framework->holds_logits) return 0;
    double tokens = (double)layout->micro_batch * (double)layout->seq_len / (double)layout->cp;
    return gp_bytes_from_double(tokens * (double)model->shape.vocab * recipe->activation_bytes / (double)layout->tp);
}

/* Is the row in the pool of a stream of FSDP's? FSDP2's gathered buffers and the sums of gradients are, while the tensors
 * copied from the one and into the other are not. */
static bool is_pooled(const gp_recipe *recipe, const gp_allocation *row) {
    if (!recipe->streams) return false;
    if (row->id == GP_ITEM_GRADIENTS) return true;
    return row->id == GP_ITEM_GATHER_BUFFERS && (!recipe->copies_gathered || gp_is_gathered_ahead(&row->amount));
}

/* What FSDP's streams hold lies in pools that are not lent to other tensors: beyond the peak of all together, the peaks of
 * both kinds add up, and with them blocks of the main pool that nothing fits into. */
static double idle_pools(const gp_model *model, const gp_layout *layout, const gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    if (!recipe->fsdp || !recipe->framework->fsdp) return 0;
    uint64_t sums[2][GP_PHASE_COUNT] = {{0}}, most[2] = {0};
    sums[0][GP_PHASE_LOSS] = left_at_loss(model, layout, &ledger->share);
    for (int i = 0; i < ledger->count; i++) {
        const gp_allocation *row = &ledger->allocations[i];
        bool pooled = is_pooled(recipe, row);
        for (int phase = 0; phase < GP_PHASE_COUNT; phase++) {
            if ((row->phases & GP_PHASE_BIT(phase)) == 0) continue;
            uint64_t *sum = &sums[pooled][phase];
            *sum = gp_add(*sum, row->amount.bytes);
            if (*sum > most[pooled]) most[pooled] = *sum;
        }
    }
    return (double)gp_sub_or_zero(gp_add(most[0], most[1]), gp_ledger_allocated(ledger));
}

/* Logits are a few large blocks, which leave no pieces between them: the most that is allocated of everything else. */
static double splintered(const gp_recipe *recipe, const gp_stage_ledger *ledger) {
    if (!recipe->fsdp || !recipe->framework->separate_ends) return (double)gp_ledger_allocated(ledger);
    uint64_t others[GP_PHASE_COUNT], most = 0;
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++) others[phase] = ledger->phase_allocated[phase];
    for (int i = 0; i < ledger->count; i++)
        for (int phase = 0; phase < GP_PHASE_COUNT; phase++) {
            const gp_allocation *row = &ledger->allocations[i];
            if (row->id == GP_ITEM_LOGITS && (row->phases & GP_PHASE_BIT(phase)) != 0)
                others[phase] = gp_sub_or_zero(others[phase], row->amount.bytes);
        }
    for (int phase = 0; phase < GP_PHASE_COUNT; phase++)
        if (others[phase] > most) most = others[phase];
    return (double)most;
}

/* Outside of what torch counts as allocated. Call after every item that it counts. */
static void add_overhead(const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    const double group_mib = 380;
    const gp_recipe *recipe = &layout->recipe;
    if (recipe->on_host) return;
    gp_ledger_append(ledger, GP_ITEM_FRAGMENTATION, ALWAYS,
                     gp_fragmentation_amount(recipe->reserved, splintered(recipe, ledger),
                                             idle_pools(model, layout, ledger)),
                     spread_fragmentation);
    gp_ledger_append(ledger, GP_ITEM_CONTEXT, ALWAYS, gp_context_amount(context_mib), spread_context);
    double groups = (layout->dp > 1) + (layout->tp > 1) + (layout->pp > 1) + (layout->cp > 1);
    if (groups > 0)
        gp_ledger_append(ledger, GP_ITEM_COMM_BUFFERS, STEP, gp_comm_amount(groups, group_mib), spread_context);
}

static void add_divided_states(const gp_job *job, const gp_model *model, const gp_layout *layout,
                               gp_stage_ledger *ledger) {
    for (int experts = 0; experts <= 1; experts++) {
        gp_stage_share part = part_of(&ledger->share, experts != 0);
        states s = states_of_part(job, layout, &part, experts != 0);
        add_full_states(job, model, &s, false, ledger);
    }
}

static void add_states(const gp_job *job, const gp_model *model, const states *s, bool made, gp_stage_ledger *ledger) {
    if (gp_is_adapter(job))
        add_adapter_states(job, model, s, made, ledger);
    else if (!divides_experts(s->layout, &ledger->share) || is_block_wise(job))
        add_full_states(job, model, s, made, ledger);
    else
        add_divided_states(job, model, s->layout, ledger);
}

/* Gradients that do not last are left out: a replay has other rows for them. */
void gp_ledger_states(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    states s = states_of(job, layout, &ledger->share);
    add_states(job, model, &s, !gp_gradients_last(layout), ledger);
}

void gp_ledger_training(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    states s = states_of(job, layout, &ledger->share);
    ledger->phases = ALWAYS;
    ledger->below = layout->recipe.framework->below;
    ledger->above = layout->recipe.framework->above;
    gp_eager_step step;
    bool replayed = gp_eager_replay(job, model, layout, &step);
    /* Gradients are made one after the other and given up by the optimizer. */
    bool made = replayed && !layout->recipe.steps_in_backward && !gp_gradients_last(layout) && !layout->recipe.gradients_on_host && !is_block_wise(job);
    add_states(job, model, &s, made, ledger);
    if (stays_gathered(&s))
        add_whole_stage(job, &s, ledger);
    else if (layout->recipe.weights_on_host || (layout->zero >= 3 && gp_layout_shards(layout) > 1))
        add_gathered(job, &s, ledger);
    add_buckets(job, &s, ledger);
    add_copies(job, &s, ledger);
    add_whole_model(&s, ledger);
    if (!gp_is_adapter(job)) add_flat_copy(&s, ledger);
    add_gradient_dummies(&s, ledger);
    double params = gp_is_adapter(job) ? (double)ledger->share.adapter_params : s.params;
    if (replayed)
        gp_ledger_replay(&step, model, layout, made ? params : 0, ledger);
    else
        add_activations(job, model, layout, ledger);
    if (!replayed || layout->recipe.loss != GP_LOSS_FULL) add_logits(job, model, layout, ledger);
    ledger->host_bytes = gp_add(ledger->host_bytes, gp_host_checkpoints(job, model, layout, &ledger->share));
    add_overhead(model, layout, ledger);
}
