/* ledger_replay.c: the phases of a step that is replayed operator by operator. Each phase holds what is alive at its worst
 * moment: in backward, what is not yet released of the activations and what is made so far of the gradients. */
#include "ledger/activations.h"
#include "formulas/formulas.h"
#include "ledger/ledger.h"

enum {
    FORWARD = GP_PHASE_BIT(GP_PHASE_FORWARD), LOSS = GP_PHASE_BIT(GP_PHASE_LOSS),
    BACKWARD = GP_PHASE_BIT(GP_PHASE_BACKWARD),
    REST = GP_PHASE_BIT(GP_PHASE_REDUCE) | GP_PHASE_BIT(GP_PHASE_OPTIMIZER)
};

/* Half-width of the 90 % range: exact for the operators it knows, but kernels and versions differ. */
static const double spread_known = 0.12, spread_assumed = 0.24; /* … and for layers counted as others are */

static double amount_of(uint64_t bytes) { return gp_overflowed(bytes) ? 2.0 * (double)GP_EXACT_MAX : (double)bytes; }

/* What a step's rows have in common. */
typedef struct { double tokens, vocab, masks, spread; } widths;

static void append(gp_stage_ledger *ledger, const widths *of, gp_item_id id, unsigned phases, gp_amount amount) {
    gp_ledger_append(ledger, id, phases, amount, of->spread);
}

/* GPT-2 holds a causal mask in every layer. */
static double mask_bytes(const gp_model *model) {
    const gp_shape *shape = &model->shape;
    bool gpt = shape->fused_qkv && shape->learned_positions > 0;
    double positions = (double)shape->learned_positions;
    return gpt ? positions * positions * (double)shape->layers : 0;
}

/* What a phase holds of the logits and of tensors that operators need for a moment. */
static void add_moment(gp_stage_ledger *ledger, gp_replay_phase phase, const gp_moment *moment, double spare,
                       const widths *of) {
    static const unsigned phases[] = {FORWARD, LOSS, BACKWARD, REST};
    double logits = amount_of(moment->held[GP_HELD_LOGITS]), working = amount_of(moment->held[GP_HELD_WORKING]);
    if (logits > 0)
        append(ledger, of, GP_ITEM_LOGITS, phases[phase], gp_replay_logits_amount(phase, logits, of->tokens, of->vocab));
    append(ledger, of, GP_ITEM_WORKSPACE, phases[phase],
           gp_replay_working_amount(phase, working + spare, of->tokens, of->masks));
}

/* Those made by the worst moment of backward, and those that are made after it. Gives the bytes of the former. */
static double add_gradients(gp_stage_ledger *ledger, const gp_layout *layout, const widths *of, double params,
                            double made) {
    double shards = layout->zero >= 2 ? (double)gp_layout_shards(layout) : 1, bytes = layout->recipe.gradient_bytes;
    double all = params * bytes / shards, first = made < all ? made : all;
    append(ledger, of, GP_ITEM_GRADIENTS, BACKWARD | REST, gp_gradients_made_amount(all, all - first));
    append(ledger, of, GP_ITEM_GRADIENTS, REST, gp_gradients_later_amount(params, bytes, shards, first));
    return first;
}

void gp_ledger_replay(const gp_eager_step *step, const gp_model *model, const gp_layout *layout, double params,
                      gp_stage_ledger *ledger) {
    const gp_moment *back = &step->backward, rest = {.held = {[GP_HELD_WORKING] = step->left}};
    bool own = gp_layers_are_known(model);
    widths of = {(double)layout->micro_batch * (double)layout->seq_len, (double)model->shape.vocab, mask_bytes(model),
                 own ? spread_known : spread_assumed};
    double kept = amount_of(step->loss.held[GP_HELD_KEPT]), layers = amount_of(step->layers);
    double before = amount_of(step->forward.held[GP_HELD_KEPT]), left = amount_of(back->held[GP_HELD_KEPT]);
    double made = amount_of(back->held[GP_HELD_GRADIENTS]);
    append(ledger, &of, GP_ITEM_ACTIVATIONS, FORWARD, gp_replay_kept_amount(GP_REPLAY_FORWARD, layers, before - layers));
    append(ledger, &of, GP_ITEM_ACTIVATIONS, LOSS, gp_replay_kept_amount(GP_REPLAY_LOSS, layers, kept - layers));
    append(ledger, &of, GP_ITEM_ACTIVATIONS, BACKWARD, gp_replay_left_amount(kept, kept - left));
    /* Two gradients of a tied table and their sum are more than all gradients: what is too much is a temporary. */
    double spare = params > 0 ? made - add_gradients(ledger, layout, &of, params, made) : 0;
    add_moment(ledger, GP_REPLAY_FORWARD, &step->forward, 0, &of);
    add_moment(ledger, GP_REPLAY_LOSS, &step->loss, 0, &of);
    add_moment(ledger, GP_REPLAY_BACKWARD, back, spare, &of);
    add_moment(ledger, GP_REPLAY_BATCH, &rest, 0, &of);
    ledger->saved_bytes = step->saved;
    for (int op = 0; op <= GP_OP_COUNT && own; op++) ledger->saved_by[op] = step->saved_by[op];
}
