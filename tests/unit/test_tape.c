#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/tape.h"

static gp_tape tape;

/* A value that asks for its gradient. */
static int leaf(uint64_t elements, int size) {
    int x = gp_tape_value(&tape, elements, size, GP_HELD_WORKING);
    tape.values[x].wants = true;
    return x;
}

static int then(gp_op op, int x, uint64_t elements, int size) {
    int out = gp_tape_apply(&tape, op, x, GP_NOTHING, elements, size, false);
    gp_tape_drop(&tape, x);
    return out;
}

/* tanh(2 x) of 1,024 fp32 numbers: the 8 bytes of the factor and tanh's result are kept, 2 x is not. */
static void test_saves_what_backward_needs(void **state) {
    (void)state;
    gp_tape_start(&tape);
    int x = leaf(1024, 4);
    int out = then(GP_OP_TANH, then(GP_OP_SCALAR, x, 1024, 4), 1024, 4);
    assert_int_equal(tape.saved, 4096 + 8);
    assert_int_equal(tape.now.bytes, 4096 + 8);
    assert_int_equal(tape.now.held[GP_HELD_KEPT], 4096 + 8);
    /* While tanh runs: its input, its result, the factor. x has no name any more when it is multiplied. */
    assert_int_equal(tape.peak.bytes, 4096 + 4096 + 8);
    gp_tape_seed(&tape, out, GP_NOTHING);
    gp_tape_reset_peak(&tape);
    gp_tape_drop(&tape, out);
    gp_tape_backward(&tape, 0);
    /* tanh's backward: the gradient in, the gradient out, what is kept. */
    assert_int_equal(tape.peak.bytes, 3 * 4096 + 8);
    assert_int_equal(tape.saved, 0);
    assert_int_equal(tape.now.bytes, 4096); /* the gradient of x */
}

static void test_a_storage_kept_twice_counts_once(void **state) {
    (void)state;
    gp_tape_start(&tape);
    int x = leaf(100, 2);
    int a = gp_tape_apply(&tape, GP_OP_PRODUCT, x, GP_NOTHING, 300, 2, true);
    int b = gp_tape_apply(&tape, GP_OP_PRODUCT, x, GP_NOTHING, 300, 2, true);
    assert_int_equal(tape.saved, 200);
    int both = gp_tape_apply(&tape, GP_OP_MULTIPLY, a, b, 300, 2, false);
    assert_int_equal(tape.saved, 200 + 2 * 600);
    gp_tape_drop(&tape, x);
    gp_tape_drop(&tape, a);
    gp_tape_drop(&tape, b);
    assert_int_equal(tape.saved, 200 + 2 * 600);
    gp_tape_seed(&tape, both, GP_NOTHING);
    gp_tape_backward(&tape, 0);
    assert_int_equal(tape.saved, 0);
}

/* Of a frozen weight no input is kept, and of a product of which one side asks for no gradient only that side. */
static void test_what_is_not_asked_for_is_not_kept(void **state) {
    (void)state;
    gp_tape_start(&tape);
    int x = leaf(100, 2), fixed = gp_tape_value(&tape, 50, 2, GP_HELD_WORKING);
    gp_tape_apply(&tape, GP_OP_PRODUCT, x, GP_NOTHING, 300, 2, false);
    assert_int_equal(tape.saved, 0);
    gp_tape_apply(&tape, GP_OP_MATMUL, x, fixed, 60, 2, false);
    assert_int_equal(tape.saved, 100);
    tape.recording = false;
    gp_tape_apply(&tape, GP_OP_SILU, x, GP_NOTHING, 100, 2, false);
    assert_int_equal(tape.saved, 100);
}

/* Gradients that meet are added out of place; those of weights stay. */
static void test_backward_of_a_residual_block(void **state) {
    (void)state;
    gp_tape_start(&tape);
    int x = leaf(100, 2);
    int inner = gp_tape_apply(&tape, GP_OP_PRODUCT, x, GP_NOTHING, 100, 2, true);
    gp_tape_node(&tape, inner)->weight = 5000;
    int sum = gp_tape_apply(&tape, GP_OP_ADD, x, inner, 100, 2, false);
    gp_tape_drop(&tape, inner);
    gp_tape_drop(&tape, x);
    gp_tape_seed(&tape, sum, GP_NOTHING);
    gp_tape_drop(&tape, sum);
    gp_tape_reset_peak(&tape);
    assert_int_equal(tape.now.bytes, 200 + 200); /* x, the gradient */
    gp_tape_backward(&tape, 0);
    /* The weight's gradient; x; the gradient that came and that of the product. Then these two and their sum. */
    assert_int_equal(tape.peak.bytes, 5000 + 3 * 200);
    assert_int_equal(tape.peak.held[GP_HELD_GRADIENTS], 5000);
    assert_int_equal(tape.now.bytes, 5000 + 200);
}

/* A node that stands for three layers keeps three storages and makes three gradients. */
static void test_one_layer_stands_for_several(void **state) {
    (void)state;
    gp_tape_start(&tape);
    int x = leaf(100, 2);
    tape.times = 3;
    tape.quiet = true;
    int out = then(GP_OP_SILU, x, 100, 2);
    int product = gp_tape_apply(&tape, GP_OP_PRODUCT, out, GP_NOTHING, 100, 2, true);
    gp_tape_node(&tape, product)->weight = 700;
    gp_tape_drop(&tape, out);
    tape.times = 1;
    tape.quiet = false;
    assert_int_equal(tape.saved, 3 * 200 + 3 * 200);
    gp_tape_seed(&tape, product, GP_NOTHING);
    gp_tape_backward(&tape, 0);
    assert_int_equal(tape.now.held[GP_HELD_GRADIENTS], 3 * 700);
    assert_int_equal(tape.saved, 0);
}

static void test_gradients_divided_by_shards(void **state) {
    (void)state;
    static const struct { uint64_t shards, bytes; } rows[] = {{1, 800}, {4, 200}, {0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gp_tape_start(&tape);
        tape.shards = rows[i].shards;
        int out = gp_tape_apply(&tape, GP_OP_PRODUCT, leaf(10, 2), GP_NOTHING, 10, 2, true);
        gp_tape_node(&tape, out)->weight = 800;
        gp_tape_seed(&tape, out, GP_NOTHING);
        gp_tape_backward(&tape, 0);
        assert_int_equal(tape.now.held[GP_HELD_GRADIENTS], rows[i].bytes);
    }
}

static void test_a_full_tape_says_so(void **state) {
    (void)state;
    gp_tape_start(&tape);
    for (int i = 0; i < 2 * GP_VALUES_MAX; i++) gp_tape_value(&tape, UINT64_MAX, 4, GP_HELD_WORKING);
    assert_true(tape.full);
    assert_true(gp_overflowed(tape.now.bytes));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saves_what_backward_needs),
        cmocka_unit_test(test_a_storage_kept_twice_counts_once),
        cmocka_unit_test(test_what_is_not_asked_for_is_not_kept),
        cmocka_unit_test(test_backward_of_a_residual_block),
        cmocka_unit_test(test_one_layer_stands_for_several),
        cmocka_unit_test(test_gradients_divided_by_shards),
        cmocka_unit_test(test_a_full_tape_says_so),
    };
    return cmocka_run_group_tests_name("tape", tests, NULL, NULL);
}
