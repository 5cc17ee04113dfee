/* formula.h: a formula, its key and its citation, in one place. Each file formulas_*.c holds a family of formulas:
 * a constant gp_formula right above the function that computes it. `expression` is arithmetic that a reader can redo:
 * numbers, symbols (letters, digits, '_'), + - * / ( ), and min, max, ceil, floor. Evaluated with the terms of an
 * allocation it gives the allocation's bytes (a test does so for every item of every generated plan). */
#ifndef GP_FORMULA_H
#define GP_FORMULA_H

#include <stdint.h>

typedef struct {
    const char *id;         /* "kv_cache.paged" */
    const char *expression; /* "2 * L * g * d * tokens * bits / 8" */
    const char *source;     /* "Ainslie et al. 2023, arXiv:2305.13245, section 2" */
} gp_formula;

/* A formula's row. The module of the page's first view knows formulas by their ids alone (wasm/first_view.c). */
#ifdef GP_FIRST_VIEW
#define GP_FORMULA(id, expression, source) {id, "", ""}
#else
#define GP_FORMULA(id, expression, source) {id, expression, source}
#endif

typedef struct {
    const char *symbol; /* static, as in the expression */
    double value;
} gp_term;

#define GP_TERMS_MAX 13
typedef struct {
    uint64_t bytes;
    const gp_formula *formula;
    int term_count;
    gp_term terms[GP_TERMS_MAX];
} gp_amount;

/* An amount of `formula` with no terms yet. */
gp_amount gp_amount_of(const gp_formula *formula);
/* Adds a term; at most GP_TERMS_MAX. */
void gp_amount_term(gp_amount *amount, const char *symbol, double value);

/* All formulas, for `explain` and the method page: index from 0, NULL past the end. */
const gp_formula *gp_formula_at(int index);
const gp_formula *gp_formula_find(const char *id);

#endif
