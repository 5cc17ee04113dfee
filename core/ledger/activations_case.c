/* activations_case.c: which jobs' steps are replayed, what of a job a replay depends on, and replays that are remembered. */
#include <string.h>

#include "ledger/activations.h"

/* One buffer holds the gradients throughout: Megatron's, and that of DeepSpeed's ZeRO-3 for the shards of all of them. */
bool gp_gradients_last(const gp_layout *layout) {
    const gp_framework *framework = layout->recipe.framework;
    return layout->grad_accum > 1 || layout->pp > 1 || framework->main_gradients || (framework->buckets && layout->zero >= 3);
}

static bool text_begins(const gp_job *job, gp_field field, const char *prefix) {
    const char *text = gp_known(job, field) ? job->settings[field].text : NULL;
    return text != NULL && strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_plain(const gp_layer_kind *kind) {
    bool softmax = kind->attention == GP_ATTENTION_FULL || kind->attention == GP_ATTENTION_SLIDING ||
                   kind->attention == GP_ATTENTION_LATENT;
    bool feeds = kind->feed_forward == GP_FFN_DENSE || kind->feed_forward == GP_FFN_MOE;
    bool own = !kind->shares_kv && !kind->keys_are_values && !kind->crosses && !kind->borrowed;
    return softmax && feeds && own && kind->recurrence == GP_RECURRENCE_NONE;
}

static bool is_written_out(const gp_model *model) {
    for (int i = 0; i < model->kind_count; i++)
        if (!is_plain(&model->kinds[i].kind)) return false;
    const gp_shape *shape = &model->shape;
    int norms = shape->norms_per_layer;
    return (norms == 1 || norms == 2 || norms == 4) && shape->norm != GP_NORM_NONE && shape->experts.latent == 0 &&
           !shape->latent.output_gate && shape->latent.index_heads == 0 && !shape->q_gate && shape->embedding_dim == 0;
}

/* Norms over queries and keys head by head, with a weight of all heads, are Command R+'s alone. */
bool gp_layers_are_known(const gp_model *model) {
    const gp_shape *shape = &model->shape;
    bool by_head = shape->qk_norm && (shape->code & GP_CODE_NORM_CENTRED) != 0;
    return (shape->code & GP_CODE_OTHER) == 0 && !by_head && is_written_out(model);
}

static bool is_known(const gp_model *model, const gp_layout *layout) {
    const gp_recipe *recipe = &layout->recipe;
    gp_recompute policy = recipe->recomputed_layers > 0 ? GP_RECOMPUTE_PARTIAL : recipe->recompute;
    bool whole = layout->tp == 1 && layout->cp == 1 && layout->pp == 1 && (layout->ep == 1 || model->shape.experts.count == 0) && layout->mtp == 0;
    return whole && recipe->kernels == GP_KERNELS_EAGER && recipe->framework->hugging_face && !recipe->scales_outputs &&
           (policy == GP_RECOMPUTE_NONE || policy == GP_RECOMPUTE_FULL) && is_written_out(model);
}

static double adapter_dropout_of(const gp_job *job, const gp_recipe *recipe) {
    if (gp_known(job, GP_FIELD_LORA_DROPOUT)) return gp_real(job, GP_FIELD_LORA_DROPOUT);
    return recipe->adapter_dropout ? 0.05 : 0;
}

/* What a full job has of adapters, and the like, stays 0: cases that are replayed alike are equal. */
static void set_case(const gp_job *job, const gp_layout *layout, gp_step_case *of) {
    const gp_recipe *recipe = &layout->recipe;
    bool lasting = gp_gradients_last(layout) || recipe->gradients_on_host;
    memset(of, 0, sizeof *of); /* cases are compared as bytes */
    of->batch = (uint64_t)layout->micro_batch;
    of->sequence = (uint64_t)layout->seq_len;
    of->adds = layout->grad_accum > 1 && layout->zero < 2;
    of->shards = lasting ? 0 : layout->zero >= 2 ? (uint64_t)gp_layout_shards(layout) : 1;
    of->stored = recipe->numerics == GP_NUMERICS_16_BIT ? 2 : 4;
    of->dropout = gp_known(job, GP_FIELD_DROPOUT) ? gp_real(job, GP_FIELD_DROPOUT) : 0;
    of->frozen = gp_is_adapter(job);
    of->plain_adapter = recipe->plain_adapter;
    of->autocast = recipe->numerics == GP_NUMERICS_AUTOCAST || (of->frozen && recipe->autocast_adapters);
    of->flash = recipe->flash;
    of->expanded_kv = recipe->expanded_kv;
    of->elementwise_gelu = recipe->elementwise_gelu;
    of->mean_keeps_input = recipe->mean_keeps_input;
    of->packed_frozen = recipe->packed_frozen;
    of->keeps_inputs = recipe->keeps_inputs;
    of->on_host = recipe->on_host;
    of->checkpoints_on_host = recipe->checkpoints_on_host;
    of->recomputes = recipe->recompute == GP_RECOMPUTE_FULL;
    of->noise = text_begins(job, GP_FIELD_DROPOUT_KERNEL, "F.dropout");
    of->whole_logits = recipe->loss == GP_LOSS_FULL;
    of->narrow_logits = gp_known(job, GP_FIELD_LOGITS_UPCAST) && gp_whole(job, GP_FIELD_LOGITS_UPCAST) == 0;
    of->old_loss = text_begins(job, GP_FIELD_LOSS_IMPL, "hf-old");
    if (!of->frozen) return;
    of->rank = (uint64_t)gp_whole(job, GP_FIELD_LORA_RANK);
    of->targets = job->lora_targets != 0 ? job->lora_targets : GP_TARGET_ALL_LINEAR;
    of->adapter = recipe->adapter_bytes > 2 ? 4 : 2;
    of->adapter_dropout = adapter_dropout_of(job, recipe);
}

/* A case is cleared before its members are set: equal ones are equal byte by byte. */
static bool is_same_case(const gp_step_case *a, const gp_step_case *b) {
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    size_t at = 0;
    while (at < sizeof *a && x[at] == y[at]) at++;
    return at == sizeof *a;
}

bool gp_eager_replay(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_eager_step *step) {
    gp_step_case of;
    struct gp_replays *known = job->replays;
    if (!is_known(model, layout)) return false;
    set_case(job, layout, &of);
    if (known == NULL) return gp_replay_step(&of, model, step);
    if (known->count == 0 || !gp_shape_is_same(&known->shape, &model->shape)) {
        gp_shape_copy(&known->shape, &model->shape);
        known->count = known->oldest = 0;
    }
    int row = 0;
    while (row < known->count && !is_same_case(&known->rows[row].of, &of)) row++;
    if (row == known->count) {
        if (known->count < GP_REPLAYS_MAX) {
            known->count++;
        } else {
            row = known->oldest;
            known->oldest = (row + 1) % GP_REPLAYS_MAX;
        }
        known->rows[row].of = of;
        known->rows[row].finished = gp_replay_step(&of, model, &known->rows[row].step);
    }
    *step = known->rows[row].step;
    return known->rows[row].finished;
}
