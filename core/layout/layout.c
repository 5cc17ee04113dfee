#include "layout/layout_parts.h"

/* Value of a degree, or `fallback` when the job leaves it open. */
static int64_t degree(const gp_job *job, gp_field field, int64_t fallback) {
    return gp_known(job, field) ? at_least_one(gp_whole(job, field)) : fallback;
}

/* Heads that tensor parallelism divides. A model without attention is split along its recurrent heads or channels. */
static int64_t split_heads(const gp_model *model) {
    const gp_state_space *ssm = &model->shape.recurrent;
    for (int i = 0; i < model->kind_count; i++)
        if (model->kinds[i].kind.attention != GP_ATTENTION_NONE) return model->shape.heads;
    return at_least_one(ssm->heads > 0 ? ssm->heads : ssm->inner);
}

/* The whole node's GPUs as far as the heads allow: the largest divisor of the count that divides the heads and that
 * the KV heads divide or are divided by. */
static int64_t widest_tensor_parallel(const gp_model *model, int64_t gpus, int64_t per_node) {
    int64_t heads = split_heads(model), kv_heads = at_least_one(model->shape.kv_heads);
    int64_t limit = gpus < per_node ? gpus : per_node;
    for (int64_t tp = limit; tp > 1; tp--) {
        bool kv_even = kv_heads % tp == 0 || tp % kv_heads == 0;
        if (gpus % tp == 0 && heads % tp == 0 && kv_even) return tp;
    }
    return 1;
}

/* Modules of a published count are trained unless the job says otherwise, those that it leaves out where the job asks. */
static int64_t prediction_modules(const gp_job *job, const gp_model *model) {
    if (gp_is_adapter(job)) return 0;
    if (gp_known(job, GP_FIELD_MTP_LAYERS)) return gp_whole(job, GP_FIELD_MTP_LAYERS);
    return model->shape.mtp_counted ? model->shape.mtp_layers : 0;
}

static void read_training(const gp_job *job, const gp_model *model, gp_layout *layout) {
    layout->mtp = prediction_modules(job, model);
    layout->tp = degree(job, GP_FIELD_TP, 1);
    layout->pp = degree(job, GP_FIELD_PP, 1);
    layout->vpp = layout->pp > 1 ? degree(job, GP_FIELD_VPP, 1) : 1;
    layout->cp = degree(job, GP_FIELD_CP, 1);
    layout->all_in_flight = layout->pp > 1 && gp_is_choice(job, GP_FIELD_SCHEDULE, GP_CHOICE_SCHEDULE_GPIPE);
    layout->turned = gp_is_choice(job, GP_FIELD_SCHEDULE, GP_CHOICE_SCHEDULE_ZB_V);
    layout->level = layout->turned || gp_is_choice(job, GP_FIELD_SCHEDULE, GP_CHOICE_SCHEDULE_ZB_H1);
    layout->both_ways = layout->pp > 1 && gp_is_choice(job, GP_FIELD_SCHEDULE, GP_CHOICE_SCHEDULE_DUALPIPE);
    layout->ep = degree(job, GP_FIELD_EP, 1);
    layout->zero = gp_known(job, GP_FIELD_ZERO) ? (int)gp_whole(job, GP_FIELD_ZERO) : 0;
    layout->sequence_parallel =
        gp_known(job, GP_FIELD_SEQUENCE_PARALLEL) ? gp_whole(job, GP_FIELD_SEQUENCE_PARALLEL) != 0 : layout->tp > 1;
    layout->micro_batch = degree(job, GP_FIELD_MICRO_BATCH, 1);
    layout->seq_len = degree(job, GP_FIELD_SEQ_LEN, 1);
}

/* The same with groups of data-parallel attention, of which so many lie within tensor parallelism. */
static int64_t widest_groups(const gp_model *model, const gp_layout *layout, int64_t gpus, int64_t groups, int64_t within) {
    int64_t each = gpus % groups == 0 ? gpus / groups : 1;
    return within * widest_tensor_parallel(model, each, at_least_one(layout->per_node / within));
}

/* llama.cpp splits by layers over all GPUs (--split-mode layer, its default), and so do the libraries (transformers:
 * device_map "auto"); servers use tensor parallelism within the node and replicas beyond it. */
static void read_inference(const gp_job *job, const gp_model *model, gp_layout *layout) {
    bool by_layers = layout->recipe.engine != GP_ENGINE_PAGED;
    bool stages_open = !gp_known(job, GP_FIELD_INFER_PP) || gp_origin_of(job, GP_FIELD_INFER_PP) == GP_DEFAULT;
    bool split_open = !gp_known(job, GP_FIELD_INFER_TP);
    layout->tp = degree(job, GP_FIELD_INFER_TP, 1);
    layout->pp = degree(job, GP_FIELD_INFER_PP, 1);
    layout->ep = degree(job, GP_FIELD_INFER_EP, 1);
    int64_t replicas = degree(job, GP_FIELD_INFER_DP, 1);
    int64_t gpus = layout->gpus % replicas == 0 ? layout->gpus / replicas : layout->gpus;
    int64_t groups = gp_layout_groups(job), within = gp_layout_groups_are_replicas(job) ? 1 : groups;
    if (gp_known(job, GP_FIELD_INFER_DP) && within == 1) groups = 1;
    if (split_open && stages_open && by_layers)
        layout->pp = gpus < model->shape.layers ? gpus : at_least_one(model->shape.layers);
    else if (split_open)
        layout->tp = widest_groups(model, layout, gpus % layout->pp == 0 ? gpus / layout->pp : 1, groups, within);
}

/* What has to be held at once: every sequence with its whole context, spread over the replicas. */
static void settle_sequences(const gp_job *job, gp_layout *layout) {
    int64_t exchange = at_least_one(gp_whole(job, GP_FIELD_PROMPT) + gp_whole(job, GP_FIELD_OUTPUT));
    layout->context = degree(job, GP_FIELD_CONTEXT, exchange);
    layout->sequences = ceil_div(degree(job, GP_FIELD_CONCURRENCY, 1), gp_layout_caches(layout));
}

static void check_heads(const gp_layout *layout, const gp_model *model, const char *path, gp_diagnostics *diagnostics) {
    int64_t heads = split_heads(model), kv_heads = at_least_one(model->shape.kv_heads), tp = layout->attention.tp;
    bool kv_even = kv_heads % tp == 0 || tp % kv_heads == 0;
    if (heads % tp != 0 || !kv_even) {
        gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_HEADS_NOT_DIVISIBLE, path);
        gp_argue_number(row, "heads", (double)(heads % tp != 0 ? heads : kv_heads));
        gp_argue_number(row, "tp", (double)tp);
    } else if (tp > kv_heads * layout->dcp) {
        gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_KV_HEADS_REPLICATED, path);
        gp_argue_number(row, "kv_heads", (double)kv_heads);
        gp_argue_number(row, "tp", (double)tp);
        int64_t copies = tp / (kv_heads * layout->dcp);
        gp_argue_number(row, "copies", (double)copies);
    }
}

/* The ranks that share out a sequence's tokens are among those that would hold copies of its cache. */
static void check_context_ranks(const gp_job *job, const gp_layout *layout, const gp_model *model, gp_diagnostics *diagnostics) {
    int64_t tp = layout->attention.tp, dcp = layout->dcp;
    if (dcp <= 1) return;
    if (tp % dcp != 0) {
        gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_DCP_MISMATCH, "infer.dcp");
        gp_argue_number(row, "dcp", (double)dcp);
        gp_argue_number(row, "tp", (double)tp);
        return;
    }
    int64_t most = gp_layout_most_dcp(job, model, tp);
    if (dcp <= most) return;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_DCP_BEYOND_COPIES, "infer.dcp");
    gp_argue_number(row, "dcp", (double)dcp);
    gp_argue_number(row, "most", (double)most);
}

static void check_stages(const gp_layout *layout, const gp_model *model, const char *path,
                         gp_diagnostics *diagnostics) {
    int64_t chunks = product(layout->pp, layout->vpp);
    if (chunks <= model->shape.layers || gp_layout_counts_ends(model, layout)) return;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_LAYERS_NOT_ENOUGH, path);
    gp_argue_number(row, "layers", (double)model->shape.layers);
    gp_argue_number(row, "pp", (double)chunks);
}

static void mismatch(gp_code code, const char *path, const char *name, int64_t stated, int64_t computed,
                     gp_diagnostics *diagnostics) {
    gp_diagnostic *row = gp_diagnose(diagnostics, code, path);
    gp_argue_number(row, name, (double)stated);
    gp_argue_number(row, "product", (double)computed);
}

/* Experts are spread over the GPUs of one pipeline stage, each over as many as any other (Megatron-LM,
 * core/parallel_state.py). */
static void check_experts(int64_t ep, int64_t gpus, const char *path, gp_diagnostics *diagnostics) {
    if (ep <= 1 || gpus % ep == 0) return;
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_EXPERTS_MISMATCH, path);
    gp_argue_number(row, "ep", (double)ep);
    gp_argue_number(row, "gpus", (double)gpus);
}

/* One copy on several GPUs without any way of splitting it: device_map="auto" of accelerate lays its layers over them. */
static bool maps_devices(const gp_job *job, const gp_layout *layout) {
    bool one_copy = gp_is_training(job) && gp_origin_of(job, GP_FIELD_DP) == GP_GIVEN && degree(job, GP_FIELD_DP, 1) == 1;
    return one_copy && layout->recipe.framework->hugging_face && layout->tp * layout->pp * layout->cp == 1;
}

/* Data parallelism is what the other degrees leave of the GPUs. */
static int64_t replicas_of(const gp_job *job, const gp_layout *layout) {
    int64_t inner = product(product(layout->tp, layout->pp), layout->cp);
    int64_t left = layout->gpus % inner == 0 ? layout->gpus / inner : 1;
    if (gp_layout_dp_is_within(job)) return left;
    return degree(job, gp_is_training(job) ? GP_FIELD_DP : GP_FIELD_INFER_DP, left);
}

static void settle_replicas(const gp_job *job, gp_layout *layout, gp_diagnostics *diagnostics) {
    if (layout->gpus > 1 && maps_devices(job, layout)) {
        layout->device_map = true;
        layout->pp = layout->gpus;
        gp_argue_number(gp_diagnose(diagnostics, GP_CODE_DEVICE_MAP, "hardware.count"), "count", (double)layout->gpus);
    }
    layout->dp = replicas_of(job, layout);
    int64_t used = product(product(product(layout->tp, layout->pp), layout->cp), layout->dp);
    if (gp_origin_of(job, GP_FIELD_COUNT) == GP_DEFAULT && layout->gpus == 1) layout->gpus = used;
    if (used == layout->gpus) return;
    mismatch(GP_CODE_PARALLEL_MISMATCH, "hardware.count", "count", layout->gpus, used, diagnostics);
}

/* torchtitan cuts the batch of a GPU into as many micro-batches as its pipeline has stages
 * (pipeline_parallel_microbatches), or into single sequences where that does not go. */
static void split_batch(gp_layout *layout) {
    layout->batch_parts = 1;
    if (!layout->recipe.framework->splits_batch || layout->pp == 1) return;
    int64_t parts = product(layout->pp, layout->vpp);
    if (layout->micro_batch % parts != 0) parts = layout->micro_batch;
    layout->batch_parts = parts;
    layout->grad_accum = product(layout->grad_accum, parts);
    layout->micro_batch /= parts;
}

/* global_batch = micro_batch * grad_accum * dp: the missing one follows from the other two. */
static void settle_batch(const gp_job *job, gp_layout *layout, gp_diagnostics *diagnostics) {
    int64_t per_pass = product(layout->micro_batch, layout->dp);
    bool batch_known = gp_known(job, GP_FIELD_GLOBAL_BATCH);
    layout->grad_accum = degree(job, GP_FIELD_GRAD_ACCUM, 1);
    layout->global_batch = product(per_pass, layout->grad_accum);
    if (!batch_known) return;
    int64_t stated = at_least_one(gp_whole(job, GP_FIELD_GLOBAL_BATCH));
    if (!gp_known(job, GP_FIELD_GRAD_ACCUM)) {
        layout->grad_accum = at_least_one(stated / per_pass);
        layout->global_batch = product(per_pass, layout->grad_accum);
    }
    if (layout->global_batch == stated) return;
    mismatch(GP_CODE_BATCH_MISMATCH, "train.global_batch", "global_batch", stated, layout->global_batch, diagnostics);
}

/* Context parallelism gives each rank as many tokens as any other. The Trainer pads a sequence to that; other
 * frameworks refuse it. A length that the solver found is a multiple by itself (solve_max.c). */
static void check_sequence(const gp_job *job, int64_t cp, gp_diagnostics *diagnostics) {
    int64_t tokens = gp_whole(job, GP_FIELD_SEQ_LEN);
    bool solved = gp_origin_of(job, GP_FIELD_SEQ_LEN) == GP_SOLVED || !gp_known(job, GP_FIELD_SEQ_LEN);
    if (solved || cp < 1 || tokens % cp == 0) return;
    bool pads = gp_origin_of(job, GP_FIELD_FRAMEWORK) == GP_GIVEN && gp_recipe_pads_sequences(job);
    gp_diagnostic *row =
        gp_diagnose(diagnostics, pads ? GP_CODE_SEQUENCE_PADDED : GP_CODE_SEQUENCE_NOT_DIVISIBLE, "train.seq_len");
    gp_argue_number(row, "seq_len", (double)tokens);
    gp_argue_number(row, "cp", (double)cp);
}

static bool has_error(const gp_diagnostics *diagnostics, int from) {
    for (int i = from; i < diagnostics->count; i++)
        if (gp_code_severity(diagnostics->rows[i].code) == GP_SEVERITY_ERROR) return true;
    return false;
}

bool gp_layout_build(const gp_job *job, const gp_model *model, gp_layout *layout, gp_diagnostics *diagnostics) {
    int before = diagnostics->count;
    bool training = gp_is_training(job);
    *layout = (gp_layout){.tp = 1, .pp = 1, .vpp = 1, .cp = 1, .dcp = 1, .index_dcp = 1, .ep = 1, .dp = 1, .micro_batch = 1, .grad_accum = 1};
    layout->gpus = degree(job, GP_FIELD_COUNT, 1);
    layout->per_node = degree(job, GP_FIELD_PER_NODE, 8);
    gp_recipe_build(job, model, &layout->recipe);
    if (training)
        read_training(job, model, layout);
    else
        read_inference(job, model, layout);
    layout->attention = gp_layout_attention(job, layout->tp, replicas_of(job, layout), diagnostics);
    if (!training) gp_layout_share_tokens(job, layout);
    check_heads(layout, model, training ? "train.tp" : "infer.tp", diagnostics);
    settle_replicas(job, layout, diagnostics);
    check_stages(layout, model, training ? "train.pp" : "infer.pp", diagnostics);
    check_experts(layout->ep, layout->gpus / layout->pp, training ? "train.ep" : "infer.ep", diagnostics);
    if (training) {
        settle_batch(job, layout, diagnostics);
        split_batch(layout);
        gp_layout_read_split(job, model, layout, diagnostics);
        check_sequence(job, layout->cp, diagnostics);
    } else {
        check_context_ranks(job, layout, model, diagnostics);
        settle_sequences(job, layout);
    }
    return !has_error(diagnostics, before);
}

/* Value of a field that is settled before any solving; 0 when it is open or at fault. */
static int64_t settled(const gp_job *job, gp_field field, const gp_diagnostics *faults) {
    bool settled = gp_known(job, field) && !gp_is_faulty(faults, gp_field_info(field)->path);
    /* Which engine splits by layers decides on serving stages that nobody asked for. */
    if (field == GP_FIELD_INFER_PP && gp_origin_of(job, field) == GP_DEFAULT) return 0;
    return settled ? at_least_one(gp_whole(job, field)) : 0;
}

/* Factors of a stated total: the product of those that are settled must be that total, or divide it while one is open. */
typedef struct { int64_t product; int open; } factors;
static void take_factor(factors *all, int64_t value) {
    all->open += value == 0;
    if (value > 0) all->product = product(all->product, value);
}
static bool are_factors_of(const factors *all, int64_t total) {
    return all->open > 0 ? total % all->product == 0 : total == all->product;
}

static void check_batch(const gp_job *job, int64_t replicas, gp_diagnostics *diagnostics) {
    int64_t stated = settled(job, GP_FIELD_GLOBAL_BATCH, diagnostics);
    factors batch = {1, 0};
    take_factor(&batch, replicas);
    take_factor(&batch, settled(job, GP_FIELD_MICRO_BATCH, diagnostics));
    take_factor(&batch, settled(job, GP_FIELD_GRAD_ACCUM, diagnostics));
    if (stated == 0 || are_factors_of(&batch, stated)) return;
    int64_t nearest = batch.open > 0 ? product(batch.product, at_least_one(stated / batch.product)) : batch.product;
    mismatch(GP_CODE_BATCH_MISMATCH, "train.global_batch", "global_batch", stated, nearest, diagnostics);
}

/* Groups as far as they can be told: with an open number of GPUs, replicas may be as many as there are groups. */
static gp_attention_groups settled_attention(const gp_job *job, int64_t tp, int64_t dp, const gp_layout *layout,
                                             gp_diagnostics *diagnostics) {
    int64_t groups = gp_layout_groups(job), count = settled(job, GP_FIELD_COUNT, diagnostics);
    bool known = dp > 0 || (gp_origin_of(job, GP_FIELD_COUNT) == GP_GIVEN && count > 0);
    if (tp == 0 || gp_is_faulty(diagnostics, "infer.attention_dp")) return (gp_attention_groups){1, 1, 1, 1};
    int64_t inner = product(layout->tp, layout->pp), left = count % inner == 0 ? at_least_one(count / inner) : 1;
    return gp_layout_attention(job, layout->tp, dp > 0 ? dp : known ? left : groups, diagnostics);
}

void gp_layout_check(const gp_job *job, const gp_model *model, gp_diagnostics *diagnostics) {
    bool training = gp_is_training(job);
    if (gp_origin_of(job, GP_FIELD_TASK) != GP_GIVEN) return;
    gp_layout layout = {.vpp = at_least_one(settled(job, GP_FIELD_VPP, diagnostics)), .dcp = 1};
    int64_t tp = settled(job, training ? GP_FIELD_TP : GP_FIELD_INFER_TP, diagnostics);
    int64_t pp = settled(job, training ? GP_FIELD_PP : GP_FIELD_INFER_PP, diagnostics);
    int64_t cp = training ? settled(job, GP_FIELD_CP, diagnostics) : 1;
    int64_t dp = gp_layout_dp_is_within(job) ? 1 : settled(job, training ? GP_FIELD_DP : GP_FIELD_INFER_DP, diagnostics);
    layout.tp = at_least_one(tp);
    layout.pp = at_least_one(pp);
    layout.attention = settled_attention(job, tp, dp, &layout, diagnostics);
    if (!training && tp > 0 && !gp_is_faulty(diagnostics, "infer.dcp")) layout.dcp = gp_layout_dcp(job);
    if (model != NULL) {
        if (!training) check_context_ranks(job, &layout, model, diagnostics);
        check_heads(&layout, model, training ? "train.tp" : "infer.tp", diagnostics);
        check_stages(&layout, model, training ? "train.pp" : "infer.pp", diagnostics);
    }
    factors grid = {1, 0};
    take_factor(&grid, tp);
    take_factor(&grid, pp);
    take_factor(&grid, cp);
    factors inner = grid;
    take_factor(&grid, dp);
    int64_t count = settled(job, GP_FIELD_COUNT, diagnostics);
    bool given = count > 0 && gp_origin_of(job, GP_FIELD_COUNT) == GP_GIVEN;
    if (given && !are_factors_of(&grid, count))
        mismatch(GP_CODE_PARALLEL_MISMATCH, "hardware.count", "count", count, grid.product, diagnostics);
    int64_t ep = settled(job, training ? GP_FIELD_EP : GP_FIELD_INFER_EP, diagnostics);
    if (given && count % layout.pp == 0) check_experts(ep, count / layout.pp, training ? "train.ep" : "infer.ep", diagnostics);
    if (!training) return;
    bool replicas_follow = dp == 0 && count > 0 && inner.open == 0 && count % inner.product == 0;
    check_batch(job, replicas_follow ? count / inner.product : dp, diagnostics);
    if (!gp_is_faulty(diagnostics, "train.seq_len")) check_sequence(job, cp, diagnostics);
}
