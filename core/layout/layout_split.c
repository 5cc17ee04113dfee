/* layout_split.c: how many layers each pipeline stage holds, where the job says so. */
#include "layout/layout.h"

static void refuse(const char *text, const gp_model *model, const gp_layout *layout, gp_diagnostics *diagnostics) {
    gp_diagnostic *row = gp_diagnose(diagnostics, GP_CODE_STAGE_LAYERS_MISMATCH, "train.pp_layers");
    gp_argue_text(row, "value", text);
    gp_argue_number(row, "layers", (double)model->shape.layers);
    gp_argue_number(row, "pp", (double)layout->pp);
}

/* "10,11,11": a number for each stage. Returns how many there are, 0 for any other text or too many. */
static int64_t read_list(const char *text, uint16_t split[GP_SPLIT_STAGES], int64_t *sum) {
    int64_t stages = 0, number = 0, digits = 0;
    *sum = 0;
    for (;; text++) {
        if (*text >= '0' && *text <= '9' && digits < 5) {
            number = 10 * number + (*text - '0');
            digits++;
            continue;
        }
        if (*text == ' ' && digits == 0) continue;
        bool ends = *text == '\0' || *text == ',';
        if (!ends || number < 1 || number > UINT16_MAX || stages == GP_SPLIT_STAGES) return 0;
        split[stages++] = (uint16_t)number;
        *sum += number;
        if (*text == '\0') return stages;
        number = digits = 0;
    }
}

void gp_layout_read_split(const gp_job *job, const gp_model *model, gp_layout *layout, gp_diagnostics *diagnostics) {
    int64_t layers = model->shape.layers, sum = 0;
    int64_t choice = gp_known(job, GP_FIELD_PP_LAYERS) ? gp_whole(job, GP_FIELD_PP_LAYERS) : GP_CHOICE_PP_LAYERS_EVEN;
    if (choice == GP_CHOICE_PP_LAYERS_EVEN) return;
    if (choice == GP_CHOICE_PP_LAYERS_BALANCE) {
        layout->balances = layout->pp > 1 && !layout->both_ways && layout->pp <= GP_SPLIT_STAGES && layers <= UINT16_MAX && layers >= layout->pp;
        return;
    }
    const char *text = job->settings[GP_FIELD_PP_LAYERS].text;
    layout->split_stages = text != NULL ? read_list(text, layout->split, &sum) : 0;
    if (layout->split_stages != layout->pp || sum != layers) refuse(text != NULL ? text : "", model, layout, diagnostics);
}

bool gp_layout_counts_ends(const gp_model *model, const gp_layout *layout) {
    uint64_t product = gp_mul((uint64_t)layout->pp, (uint64_t)layout->vpp);
    int64_t all = model->shape.layers + 2, chunks = product > GP_EXACT_MAX ? INT64_MAX : (int64_t)product;
    return layout->pp > 2 && chunks > model->shape.layers && chunks <= all && all % layout->pp == 0;
}

int64_t gp_layout_layers(const gp_model *model, const gp_layout *layout, int64_t stage, int64_t *first) {
    int64_t layers = model->shape.layers, pp = layout->pp, each = layers / pp, more = layers % pp;
    if (layout->split_stages == pp) {
        *first = 0;
        for (int64_t i = 0; i < stage; i++) *first += layout->split[i];
        return layout->split[stage];
    }
    if (gp_layout_counts_ends(model, layout)) {
        int64_t even = (layers + 2) / pp;
        *first = stage > 0 ? stage * even - 1 : 0;
        return stage == 0 || stage + 1 == pp ? even - 1 : even;
    }
    *first = stage * each + (stage < more ? stage : more);
    return each + (stage < more ? 1 : 0);
}
