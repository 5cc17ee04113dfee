#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "expression.h"
#include "formulas/formula.h"

static void evaluates_to(const char *expression, double wanted) {
    const gp_term terms[] = {{"a", 6}, {"b_2", 4}, {"zero", 0}};
    double value = expression_value(expression, 3, terms);
    if (isnan(wanted)) assert_true(isnan(value));
    else assert_true(value == wanted);
}

static void test_evaluator_follows_arithmetic(void **state) {
    (void)state;
    evaluates_to("a + b_2 * 2", 14);
    evaluates_to("(a + b_2) * 2", 20);
    evaluates_to("a / b_2 / 3", 0.5);
    evaluates_to("a - b_2 - 1", 1);
    evaluates_to("-a + 7", 1);
    evaluates_to("ceil(a / b_2) + floor(a / b_2)", 3);
    evaluates_to("max(a, b_2, 9) - min(a, b_2)", 5);
    evaluates_to("1.5 * a", 9);
}

static void test_evaluator_refuses_what_it_cannot_read(void **state) {
    (void)state;
    evaluates_to("a +", (double)NAN);
    evaluates_to("unknown * 2", (double)NAN);
    evaluates_to("(a", (double)NAN);
    evaluates_to("a b_2", (double)NAN);
    evaluates_to("root(a)", (double)NAN);
}

static void test_amount_keeps_its_terms(void **state) {
    (void)state;
    gp_amount amount = gp_amount_of(gp_formula_at(0));
    for (int i = 0; i < GP_TERMS_MAX + 3; i++) gp_amount_term(&amount, "x", i);
    assert_int_equal(amount.term_count, GP_TERMS_MAX);
    assert_true(amount.terms[GP_TERMS_MAX - 1].value == GP_TERMS_MAX - 1);
    assert_ptr_equal(amount.formula, gp_formula_at(0));
}

static void test_every_formula_has_an_id_an_expression_and_a_source(void **state) {
    (void)state;
    int count = 0;
    for (; gp_formula_at(count) != NULL; count++) {
        const gp_formula *formula = gp_formula_at(count);
        assert_non_null(strchr(formula->id, '.'));
        assert_true(strlen(formula->expression) > 3);
        assert_true(strlen(formula->source) > 10);
        assert_ptr_equal(gp_formula_find(formula->id), formula);
    }
    assert_true(count > 25);
    assert_null(gp_formula_at(-1));
    assert_null(gp_formula_find("no.such"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluator_follows_arithmetic),
        cmocka_unit_test(test_evaluator_refuses_what_it_cannot_read),
        cmocka_unit_test(test_amount_keeps_its_terms),
        cmocka_unit_test(test_every_formula_has_an_id_an_expression_and_a_source),
    };
    return cmocka_run_group_tests_name("formula", tests, NULL, NULL);
}
