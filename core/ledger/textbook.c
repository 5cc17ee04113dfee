/* The course notes' ledger: state bytes per parameter, c * b * s * h * L of activations, the KV cache, and nothing
 * else. It can be redone on paper; the detailed ledger is the one to trust. */
#include "formulas/formulas.h"
#include "ledger/ledger.h"

enum {
    PHASES_TRAIN = GP_PHASE_BIT(GP_PHASE_LOAD) | GP_PHASE_BIT(GP_PHASE_FORWARD) | GP_PHASE_BIT(GP_PHASE_BACKWARD) |
                   GP_PHASE_BIT(GP_PHASE_OPTIMIZER),
    PHASES_PASS = GP_PHASE_BIT(GP_PHASE_FORWARD) | GP_PHASE_BIT(GP_PHASE_BACKWARD),
    PHASES_GRADIENTS = GP_PHASE_BIT(GP_PHASE_BACKWARD) | GP_PHASE_BIT(GP_PHASE_OPTIMIZER),
    PHASES_STATES = PHASES_PASS | GP_PHASE_BIT(GP_PHASE_OPTIMIZER),
    PHASES_INFER = GP_PHASE_BIT(GP_PHASE_LOAD) | GP_PHASE_BIT(GP_PHASE_PREFILL) | GP_PHASE_BIT(GP_PHASE_DECODE),
    PHASES_CACHE = GP_PHASE_BIT(GP_PHASE_PREFILL) | GP_PHASE_BIT(GP_PHASE_DECODE)
};


static double take(double *rest, double wanted) {
    double taken = *rest < wanted ? *rest : wanted;
    *rest -= taken;
    return taken;
}

/* A stated sum of 12 or less leaves out the master copy; what remains after weights and gradients belongs to the
 * optimizer. */
static gp_textbook_state split_state(const gp_job *job, const gp_recipe *recipe) {
    if (!gp_known(job, GP_FIELD_TEXTBOOK_STATE)) return recipe->textbook_state;
    gp_textbook_state split;
    double rest = gp_real(job, GP_FIELD_TEXTBOOK_STATE);
    double stated = rest;
    split.weights = take(&rest, 2);
    split.gradients = take(&rest, 2);
    split.master = stated > 12 ? take(&rest, 4) : 0;
    split.optimizer = rest;
    return split;
}

/* Appends a state, or adds it to host memory when it is offloaded. */
static void place(gp_stage_ledger *ledger, gp_item_id id, unsigned phases, gp_amount amount, bool on_host) {
    if (on_host)
        ledger->host_bytes = gp_add(ledger->host_bytes, amount.bytes);
    else
        gp_ledger_append(ledger, id, phases, amount, 0);
}

static double stated_params(const gp_model *model) {
    return model->stated_params > 0 ? model->stated_params : (double)model->total_params;
}

static gp_textbook_share share_of(const gp_layout *layout, double params, bool sharded) {
    double shards = sharded ? (double)layout->dp * (double)layout->cp : 1;
    return (gp_textbook_share){params, (double)layout->tp * (double)layout->pp, shards};
}

static void add_full_states(const gp_job *job, const gp_model *model, const gp_layout *layout,
                            gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    gp_textbook_state bytes = split_state(job, recipe);
    double params = stated_params(model);
    gp_textbook_share z1 = share_of(layout, params, layout->zero >= 1);
    gp_textbook_share z2 = share_of(layout, params, layout->zero >= 2);
    gp_textbook_share z3 = share_of(layout, params, layout->zero >= 3);
    place(ledger, GP_ITEM_WEIGHTS, PHASES_TRAIN, gp_textbook_weights(z3, bytes.weights), recipe->weights_on_host);
    place(ledger, GP_ITEM_GRADIENTS, PHASES_GRADIENTS, gp_textbook_gradients(z2, bytes.gradients), false);
    place(ledger, GP_ITEM_MASTER_WEIGHTS, PHASES_TRAIN, gp_textbook_master(z1, bytes.master), recipe->master_on_host);
    place(ledger, GP_ITEM_OPTIMIZER, PHASES_STATES, gp_textbook_optimizer(z1, bytes.optimizer),
          recipe->optimizer_on_host);
}

/* Only ZeRO-3 shards what is frozen, and it leaves packed weights whole. */
static void add_adapter_states(const gp_job *job, const gp_model *model, const gp_layout *layout,
                               gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    gp_textbook_state bytes = split_state(job, recipe);
    bool sharded = layout->zero >= 3 && !recipe->packed_frozen;
    gp_textbook_share frozen = share_of(layout, stated_params(model), sharded);
    place(ledger, GP_ITEM_WEIGHTS, PHASES_TRAIN, gp_textbook_weights(frozen, recipe->textbook_bits / 8),
          recipe->weights_on_host);
    gp_textbook_share share = share_of(layout, (double)model->adapter_params, layout->zero >= 1);
    double kept = (layout->zero < 3 ? bytes.weights : 0) + (layout->zero < 2 ? bytes.gradients : 0);
    double all = bytes.weights + bytes.gradients + bytes.master + bytes.optimizer;
    gp_ledger_append(ledger, GP_ITEM_ADAPTER, PHASES_TRAIN, gp_textbook_adapter(share, kept, all - kept), 0);
}

static void add_training(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    if (gp_is_adapter(job))
        add_adapter_states(job, model, layout, ledger);
    else
        add_full_states(job, model, layout, ledger);
    double coefficient = gp_known(job, GP_FIELD_TEXTBOOK_ACTIVATION) ? gp_real(job, GP_FIELD_TEXTBOOK_ACTIVATION) : 34;
    bool full = gp_known(job, GP_FIELD_RECOMPUTE) && gp_whole(job, GP_FIELD_RECOMPUTE) == GP_RECOMPUTE_FULL;
    gp_amount kept = gp_textbook_activations(layout, &ledger->share, model->shape.hidden, coefficient, full);
    gp_ledger_append(ledger, GP_ITEM_ACTIVATIONS, PHASES_PASS, kept, 0);
    ledger->saved_bytes = kept.bytes;
}

static void add_inference(const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    double bits = layout->recipe.textbook_bits;
    gp_textbook_share share = share_of(layout, stated_params(model), false);
    gp_ledger_append(ledger, GP_ITEM_WEIGHTS, PHASES_INFER, gp_textbook_weights(share, bits / 8), 0);
    double tokens = (double)layout->context * (double)layout->sequences;
    gp_amount cache = gp_textbook_kv(layout, &ledger->share, &model->shape, tokens);
    gp_ledger_append(ledger, GP_ITEM_KV_CACHE, PHASES_CACHE, cache, 0);
}

void gp_ledger_textbook(const gp_job *job, const gp_model *model, const gp_layout *layout, gp_stage_ledger *ledger) {
    bool training = gp_is_training(job);
    ledger->phases = training ? PHASES_TRAIN : PHASES_INFER;
    if (training)
        add_training(job, model, layout, ledger);
    else
        add_inference(model, layout, ledger);
}
