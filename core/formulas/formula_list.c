/* All formulas, apart from what makes amounts of them: only who looks one up needs the list. */
#include <string.h>

#include "formulas/formulas.h"

static const gp_formula *const *const families[] = {
    gp_formulas_state, gp_formulas_activations, gp_formulas_overhead, gp_formulas_inference, gp_formulas_llama_cpp,
    gp_formulas_textbook, gp_formulas_timing,
};
enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

const gp_formula *gp_formula_at(int index) {
    if (index < 0) return NULL;
    for (int family = 0; family < FAMILY_COUNT; family++)
        for (int i = 0; families[family][i] != NULL; i++)
            if (index-- == 0) return families[family][i];
    return NULL;
}

const gp_formula *gp_formula_find(const char *id) {
    for (int i = 0; gp_formula_at(i) != NULL; i++)
        if (strcmp(gp_formula_at(i)->id, id) == 0) return gp_formula_at(i);
    return NULL;
}
