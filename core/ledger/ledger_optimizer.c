/* ledger_optimizer.c: what the optimizer's step needs for a moment beside its states. */
#include "formulas/formulas.h"
#include "ledger/ledger.h"

static const double spread = 0.30;

/* The tensor, and the one before it in the order of the parameters, for which `factor` times the one and `behind` times
 * the other are most. */
typedef struct {
    double factor, behind;     /* bytes per element */
    double last;               /* elements of the tensor visited last */
    double largest, previous;  /* of the worst pair so far */
    bool joins;                /* gate and up are one matrix */
} search;

static void visit(search *s, double elements) {
    if (elements <= 0) return;
    if (s->factor * elements + s->behind * s->last > s->factor * s->largest + s->behind * s->previous) {
        s->largest = elements;
        s->previous = s->last;
    }
    s->last = elements;
}

static void visit_matrix(search *s, const gp_matrix *matrix, int copies) {
    for (int i = 0; i < copies; i++) {
        visit(s, (double)matrix->inputs * (double)matrix->outputs);
        if (matrix->bias) visit(s, (double)matrix->outputs);
    }
}

/* Two of a layer's experts show every pair of neighbours; two layers do too. */
static void visit_layer(search *s, const gp_layer *layer, double norm) {
    for (int i = 0; i < layer->matrix_count; i++) {
        const gp_matrix *matrix = &layer->matrices[i];
        if (s->joins && matrix->tensor == GP_TENSOR_FFN_GATE) visit(s, 2.0 * (double)matrix->inputs * (double)matrix->outputs);
        if (s->joins && (matrix->tensor == GP_TENSOR_FFN_GATE || matrix->tensor == GP_TENSOR_FFN_UP)) continue;
        bool in_turn = matrix->copies > 1 && i + 2 < layer->matrix_count && layer->matrices[i + 2].copies > 1;
        if (!in_turn) {
            visit_matrix(s, matrix, matrix->copies > 1 ? 2 : 1);
            continue;
        }
        for (int expert = 0; expert < 2; expert++)
            for (int part = 0; part < 3; part++) visit_matrix(s, &layer->matrices[i + part], 1);
        i += 2;
    }
    visit(s, norm);
}

/* GPT-2 has queries, keys and values in one matrix. */
static void visit_model(search *s, const gp_model *model) {
    double hidden = (double)model->shape.hidden;
    s->joins = model->shape.fused_gate_up;
    visit(s, (double)model->embedding_params);
    visit(s, (double)model->position_params);
    for (int kind = 0; kind < model->kind_count; kind++)
        for (int layer = 0; layer < 2; layer++) {
            if (model->shape.fused_qkv) {
                visit(s, hidden);
                visit(s, (double)(model->kinds[kind].kind.heads + 2 * model->kinds[kind].kind.kv_heads) *
                             (double)model->kinds[kind].kind.head_dim * hidden);
                visit(s, hidden);
            }
            visit_layer(s, &model->kinds[kind], hidden);
        }
    visit(s, hidden);
    visit(s, (double)model->head_params);
}

static void visit_adapters(search *s, const gp_job *job, const gp_model *model) {
    double rank = (double)gp_whole(job, GP_FIELD_LORA_RANK);
    for (int kind = 0; kind < model->kind_count; kind++)
        for (int i = 0; i < model->kinds[kind].matrix_count; i++) {
            const gp_matrix *matrix = &model->kinds[kind].matrices[i];
            if (!gp_adapts(job->lora_targets, matrix)) continue;
            visit(s, rank * (double)matrix->inputs);
            visit(s, rank * (double)matrix->outputs);
        }
}

static void add_largest(const gp_job *job, const gp_model *model, search *s, gp_stage_ledger *ledger) {
    if (gp_is_adapter(job))
        visit_adapters(s, job, model);
    else
        visit_model(s, model);
    gp_ledger_append(ledger, GP_ITEM_OPTIMIZER_TEMP, GP_PHASE_BIT(GP_PHASE_OPTIMIZER),
                     gp_optimizer_single_amount(s->largest, s->factor, s->previous, s->behind), spread);
}

/* DeepSpeed's master copy is in fp32, and so must the gradient be that ZeRO steps its shard with. */
static void add_wide_gradient(const gp_layout *layout, double params, double shards, gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    const double sub_group = 1e9;
    bool divides = recipe->framework->buckets && !recipe->framework->main_gradients && layout->zero > 0 && shards > 1;
    if (!divides || !(recipe->master_bytes > 0)) return;
    gp_ledger_append(ledger, GP_ITEM_OPTIMIZER_TEMP, GP_PHASE_BIT(GP_PHASE_OPTIMIZER),
                     gp_optimizer_gradient_amount(params, shards, layout->zero >= 3 ? sub_group : params / shards,
                                                  recipe->gradient_bytes), spread);
}

void gp_ledger_optimizer_step(const gp_job *job, const gp_model *model, const gp_layout *layout, double params,
                              double shards, gp_stage_ledger *ledger) {
    const gp_recipe *recipe = &layout->recipe;
    bool adam = gp_is_choice(job, GP_FIELD_OPTIMIZER, GP_CHOICE_OPTIMIZER_ADAMW);
    /* Unless it is told, PyTorch updates tensor by tensor on the host (torch/optim/optimizer.py). */
    bool told = gp_known(job, GP_FIELD_FOREACH), lists = recipe->foreach_temporaries && (told || !recipe->on_host);
    bool single = adam && !lists && (told || recipe->on_host);
    double stored = recipe->optimizer_bytes / 2;
    if (recipe->optimizer_on_host) return;
    add_wide_gradient(layout, params, shards, ledger);
    if (lists && adam) {
        gp_ledger_append(ledger, GP_ITEM_OPTIMIZER_TEMP, GP_PHASE_BIT(GP_PHASE_OPTIMIZER),
                         gp_optimizer_temp_amount(recipe->on_host ? 2 : 1, params, stored, shards), spread);
        return;
    }
    bool factored = recipe->factored_optimizer && recipe->framework->hugging_face;
    if (shards > 1 || !(single || factored)) return;
    double bytes = gp_is_adapter(job) ? recipe->adapter_bytes : recipe->other_bits / 8;
    search s = {.factor = single ? 2 * stored : bytes > 2 ? 8 : 16, .behind = single ? stored : 4};
    add_largest(job, model, &s, ledger);
}
