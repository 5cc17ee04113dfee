#include "formula.h"

#include <string.h>

#include "formulas.h"

gp_amount gp_amount_of(const gp_formula *formula) {
    gp_amount amount = {.formula = formula};
    return amount;
}

void gp_amount_term(gp_amount *amount, const char *symbol, double value) {
    if (amount->term_count >= GP_TERMS_MAX) return;
    amount->terms[amount->term_count++] = (gp_term){symbol, value};
}

gp_amount gp_amount_make(const gp_formula *formula, double bytes, int term_count, const gp_term *terms) {
    gp_amount amount = {.bytes = gp_bytes_from_double(bytes), .formula = formula, .term_count = term_count};
    for (int i = 0; i < term_count; i++) amount.terms[i] = terms[i];
    return amount;
}

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
