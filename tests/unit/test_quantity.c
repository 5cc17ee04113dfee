#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/quantity.h"

static void test_addition_saturates(void **state) {
    (void)state;
    assert_true(gp_add(2, 3) == 5);
    assert_true(gp_add(UINT64_MAX - 1, 1) == UINT64_MAX);
    assert_true(gp_add(UINT64_MAX - 1, 2) == UINT64_MAX);
    assert_true(gp_add(UINT64_MAX, 0) == UINT64_MAX);
    assert_true(gp_overflowed(gp_add(UINT64_MAX, UINT64_MAX)));
}

static void test_products_saturate(void **state) {
    (void)state;
    assert_true(gp_mul(6, 7) == 42);
    assert_true(gp_mul(0, 7) == 0);
    assert_true(gp_mul(UINT64_C(1) << 32, UINT64_C(1) << 31) == UINT64_C(1) << 63);
    assert_true(gp_overflowed(gp_mul(UINT64_C(1) << 32, UINT64_C(1) << 32)));
    assert_true(gp_mul3(2, 3, 4) == 24);
    assert_true(gp_overflowed(gp_mul3(UINT64_C(1) << 40, UINT64_C(1) << 40, 0)));
}

static void test_overflow_survives_every_operation(void **state) {
    (void)state;
    assert_true(gp_overflowed(gp_mul(UINT64_MAX, 0)));
    assert_true(gp_overflowed(gp_mul(0, UINT64_MAX)));
    assert_true(gp_overflowed(gp_sub_or_zero(UINT64_MAX, 5)));
    assert_true(gp_overflowed(gp_div_ceil(UINT64_MAX, 8)));
    assert_true(gp_overflowed(gp_bytes_of(UINT64_MAX, 4)));
}

static void test_difference_stops_at_zero(void **state) {
    (void)state;
    assert_true(gp_sub_or_zero(5, 3) == 2);
    assert_true(gp_sub_or_zero(3, 5) == 0);
    assert_true(gp_sub_or_zero(3, 3) == 0);
}

static void test_quotients_round_up(void **state) {
    (void)state;
    assert_true(gp_div_ceil(7, 2) == 4);
    assert_true(gp_div_ceil(8, 2) == 4);
    assert_true(gp_div_ceil(0, 2) == 0);
    assert_true(gp_div_ceil(UINT64_MAX - 1, 1) == UINT64_MAX - 1);
    assert_true(gp_overflowed(gp_div_ceil(1, 0)));
}

static void test_bytes_from_double(void **state) {
    (void)state;
    assert_true(gp_bytes_from_double(0) == 0);
    assert_true(gp_bytes_from_double(-1) == 0);
    assert_true(gp_bytes_from_double((double)NAN) == 0);
    assert_true(gp_bytes_from_double(0.1) == 1);
    assert_true(gp_bytes_from_double(1e9) == 1000000000);
    assert_true(gp_bytes_from_double(0x1p63) == UINT64_C(1) << 63);
    assert_true(gp_overflowed(gp_bytes_from_double(1e30)));
    assert_true(gp_overflowed(gp_bytes_from_double((double)INFINITY)));
}

static void test_bytes_of_elements(void **state) {
    (void)state;
    assert_true(gp_bytes_of(1000, 16) == 2000);
    assert_true(gp_bytes_of(3, 4) == 2);
    assert_true(gp_bytes_of(32, 4.5) == 18);
    assert_true(gp_bytes_of(256, 3.4375) == 110);
    assert_true(gp_bytes_of(0, 16) == 0);
    assert_true(gp_bytes_of(1000, 0) == 0);
    assert_true(gp_bytes_of(1000, -4) == 0);
    assert_true(gp_bytes_of(1000, (double)NAN) == 0);
    assert_true(gp_bytes_of(1000, 4.85) == 607);
}

/* A double would lose the last bits of these; the table's formats are multiples of 1/64 bit. */
static void test_bytes_of_many_elements_are_exact(void **state) {
    (void)state;
    uint64_t odd = (UINT64_C(1) << 53) + 1;
    assert_true(gp_bytes_of(odd, 16) == 2 * odd);
    uint64_t blocks = UINT64_C(40000000000001);
    assert_true(gp_bytes_of(32 * blocks, 4.5) == 18 * blocks);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addition_saturates),
        cmocka_unit_test(test_products_saturate),
        cmocka_unit_test(test_overflow_survives_every_operation),
        cmocka_unit_test(test_difference_stops_at_zero),
        cmocka_unit_test(test_quotients_round_up),
        cmocka_unit_test(test_bytes_from_double),
        cmocka_unit_test(test_bytes_of_elements),
        cmocka_unit_test(test_bytes_of_many_elements_are_exact),
    };
    return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
