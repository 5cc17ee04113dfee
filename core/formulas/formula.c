#include "formulas/formula.h"

#include "base/quantity.h"

gp_amount gp_amount_of(const gp_formula *formula) {
    gp_amount amount = {.formula = formula};
    return amount;
}

void gp_amount_term(gp_amount *amount, const char *symbol, double value) {
    if (amount->term_count >= GP_TERMS_MAX) return;
    amount->terms[amount->term_count++] = (gp_term){symbol, value};
}

/* Terms beyond the last are never read; clearing them would take longer than all else. */
gp_amount gp_amount_make(const gp_formula *formula, double bytes, int term_count, const gp_term *terms) {
    gp_amount amount;
    amount.bytes = gp_bytes_from_double(bytes);
    amount.formula = formula;
    amount.term_count = term_count;
    for (int i = 0; i < term_count; i++) amount.terms[i] = terms[i];
    return amount;
}
