/* ledger_replay.c: the phases of a step that is replayed operator by operator. Each phase holds what is alive at its worst
 * moment: in backward, what is not yet released of the activations and what is made so far of the gradients. */
#include "activations.h"
#include "formulas.h"
#include "ledger.h"

enum {
    FORWARD = GP_PHASE_BIT(GP_PHASE_FORWARD), LOSS = GP_PHASE_BIT(GP_PHASE_LOSS),
    BACKWARD = GP_PHASE_BIT(GP_PHASE_BACKWARD),
    REST = GP_PHASE_BIT(GP_PHASE_REDUCE) | GP_PHASE_BIT(GP_PHASE_OPTIMIZER)
};

/* Half-width of the 90 % range: exact for the operators it knows, but kernels and versions differ. */
static const double spread = 0.12;

static double amount_of(uint64_t bytes) { return gp_overflowed(bytes) ? 2.0 * (double)GP_EXACT_MAX : (double)bytes; }

static void append(gp_stage_ledger *ledger, gp_item_id id, unsigned phases, gp_amount amount) {
    gp_ledger_append(ledger, id, phases, amount, spread);
}

/* GPT-2 holds a causal mask in every layer. */
static double mask_bytes(const gp_model *model) {
    const gp_shape *shape = &model->shape;
    bool gpt = shape->fused_qkv && shape->learned_positions > 0;
    double positions = (double)shape->learned_positions;
    return gpt ? positions * positions * (double)shape->layers : 0;
}

/* Tensors of operators, and the batch with the masks, which are there in every phase. */
static void add_working(gp_stage_ledger *ledger, unsigned phases, double bytes, double tokens, double masks) {
    append(ledger, GP_ITEM_WORKSPACE, phases, gp_replay_working_amount(bytes, tokens, masks));
}

static void add_logits(gp_stage_ledger *ledger, unsigned phase, const gp_moment *moment, double tokens, double vocab) {
    append(ledger, GP_ITEM_LOGITS, phase, gp_replay_logits_amount(amount_of(moment->held[GP_HELD_LOGITS]), tokens, vocab));
}

/* Those made by the worst moment of backward, and those that are made after it. Gives the bytes of the former. */
static double add_gradients(gp_stage_ledger *ledger, const gp_layout *layout, double params, double made) {
    double shards = layout->zero >= 2 ? (double)(layout->dp * layout->cp) : 1, bytes = layout->recipe.gradient_bytes;
    double all = params * bytes / shards, first = made < all ? made : all;
    append(ledger, GP_ITEM_GRADIENTS, BACKWARD | REST, gp_gradients_made_amount(all, all - first));
    append(ledger, GP_ITEM_GRADIENTS, REST, gp_gradients_later_amount(params, bytes, shards, first));
    return first;
}

void gp_ledger_replay(const gp_eager_step *step, const gp_model *model, const gp_layout *layout, double params,
                      gp_stage_ledger *ledger) {
    const gp_moment *back = &step->backward;
    double tokens = (double)layout->micro_batch * (double)layout->seq_len, vocab = (double)model->shape.vocab;
    double kept = amount_of(step->loss.held[GP_HELD_KEPT]), layers = amount_of(step->layers);
    double before = amount_of(step->forward.held[GP_HELD_KEPT]), left = amount_of(back->held[GP_HELD_KEPT]);
    double masks = mask_bytes(model), made = amount_of(back->held[GP_HELD_GRADIENTS]);
    append(ledger, GP_ITEM_ACTIVATIONS, FORWARD, gp_replay_kept_amount(layers, before - layers));
    append(ledger, GP_ITEM_ACTIVATIONS, LOSS, gp_replay_kept_amount(layers, kept - layers));
    append(ledger, GP_ITEM_ACTIVATIONS, BACKWARD, gp_replay_left_amount(kept, kept - left));
    add_logits(ledger, LOSS, &step->loss, tokens, vocab);
    add_logits(ledger, BACKWARD, back, tokens, vocab);
    /* Two gradients of a tied table and their sum are more than all gradients: what is too much is a temporary. */
    double spare = params > 0 ? made - add_gradients(ledger, layout, params, made) : 0;
    add_working(ledger, FORWARD, amount_of(step->forward.held[GP_HELD_WORKING]), tokens, masks);
    add_working(ledger, LOSS, amount_of(step->loss.held[GP_HELD_WORKING]), tokens, masks);
    add_working(ledger, BACKWARD, amount_of(back->held[GP_HELD_WORKING]) + spare, tokens, masks);
    add_working(ledger, REST, amount_of(step->left), tokens, masks);
    ledger->saved_bytes = step->saved;
}
