/* expression.h: evaluates the arithmetic of a gp_formula with the terms of an amount, as a reader would by hand. */
#ifndef GP_TEST_EXPRESSION_H
#define GP_TEST_EXPRESSION_H

#include "formulas/formula.h"

/* Value of the expression; NaN when it does not parse, names a symbol that has no term, or leaves text over. */
double expression_value(const char *expression, int term_count, const gp_term *terms);

#endif
