/* Numbers as decimal text, held against the C library over random bit patterns and the hard cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

/* xorshift64: the same numbers in every run. */
static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double number_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of_number(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static void expect_written(double value) {
    char expected[64];
    char buffer[GP_DECIMAL_BYTES];
    snprintf(expected, sizeof expected, "%.15g", value);
    if (strtod(expected, NULL) != value) snprintf(expected, sizeof expected, "%.17g", value);
    size_t length = gp_decimal_write(buffer, value);
    assert_string_equal(buffer, expected);
    assert_int_equal(length, strlen(expected));
}

static void expect_read(const char *text) {
    char *expected_end;
    char *end;
    double expected = strtod(text, &expected_end);
    double value = gp_decimal_read(text, &end);
    if (bits_of_number(value) != bits_of_number(expected)) fail_msg("%s: %a instead of %a", text, value, expected);
    assert_ptr_equal(end, expected_end);
}

static void writes_any_bit_pattern_as_the_c_library_does(void **state) {
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 50000; i++) {
        double value = number_of_bits(next_random(&random));
        if (isfinite(value)) expect_written(value);
    }
}

static void writes_everyday_numbers(void **state) {
    (void)state;
    const double values[] = {0,    -0.0,  1,    -1,        0.1,    0.2,  0.3,     1.0 / 3,   2.0 / 3,
                             100,  1e15,  1e16, 1e17,      1e22,   1e23, 1e-4,    1e-5,      123456.789,
                             0.85, 4.127, 34,   3.4413e12, 5e-324, 9.5,  999999999999999.9, 9007199254740993.0,
                             1.7976931348623157e308, 2.2250738585072014e-308, 4503599627370496.5, 99999999999999.95};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) expect_written(values[i]);
}

static void reads_back_what_it_writes(void **state) {
    (void)state;
    uint64_t random = 2;
    for (int i = 0; i < 50000; i++) {
        double value = number_of_bits(next_random(&random));
        char buffer[GP_DECIMAL_BYTES];
        if (!isfinite(value)) continue;
        gp_decimal_write(buffer, value);
        assert_true(gp_decimal_read(buffer, NULL) == value);
    }
}

static void reads_random_spellings_as_the_c_library_does(void **state) {
    (void)state;
    uint64_t random = 3;
    for (int i = 0; i < 50000; i++) {
        char text[96];
        unsigned long long digits = next_random(&random);
        unsigned long long more = next_random(&random) >> (next_random(&random) % 64);
        int exponent = (int)(next_random(&random) % 700) - 350;
        snprintf(text, sizeof text, "%s%llu.%llue%d", i % 2 ? "-" : "", digits >> (i % 64), more, exponent);
        expect_read(text);
    }
}

/* The middle between two neighbouring doubles has the most digits of all: ties must go to the even one. */
static void reads_middles_between_neighbours(void **state) {
    (void)state;
    const char *middle_of_greatest_and_next =
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416"
        "69288791094655554785194040263065748867150582068190890200070838367627385484581771153176447573027006985557136695962"
        "2842914819860834936475292719074168444365510704342711559699508093042880";
    const char *texts[] = {
        "9007199254740993",     "9007199254740992.99999999999999999999", "9007199254740993.00000000000000000001",
        "9007199254740995",     "2.2250738585072011e-308",               "2.2250738585072012e-308",
        "4.9406564584124654e-324", "2.4703282292062327e-324",            "2.4703282292062328e-324",
        "1.7976931348623158e308", "1.7976931348623159e308",              "1e309", "1e-400", "0e999999999999",
        middle_of_greatest_and_next};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_read(texts[i]);

    uint64_t random = 4;
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = next_random(&random) & INT64_MAX;
        if (!isfinite(number_of_bits(bits + 1))) continue;
        long double middle = ((long double)number_of_bits(bits) + (long double)number_of_bits(bits + 1)) / 2;
        char text[1600];
        snprintf(text, sizeof text, "%.1100Lf", middle);
        if (strlen(text) < sizeof text - 2) expect_read(text);
        snprintf(text, sizeof text, "%.780Le", middle);
        expect_read(text);
    }
}

static void reads_only_what_is_a_number(void **state) {
    (void)state;
    const char *texts[] = {"",  "-",  "+",   ".",   "e5",   "x",    "1e",    "1e+",    "1.e5",  ".5",     "+.5e1", "-0",
                           "1.2.3", "--1", "0.000", "00012", "1 2",  "1,5",   "12abc",  "1E5",   "1e-05",  "0.1e-1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_read(texts[i]);
}

static void reads_any_number_of_digits(void **state) {
    (void)state;
    static char text[20000];
    memset(text, '7', sizeof text - 1);
    expect_read(text);
    text[1] = '.';
    expect_read(text);
    memset(text, '0', sizeof text - 2);
    expect_read(text);
    text[1] = '.';
    snprintf(text + sizeof text - 10, 10, "5e19980");
    expect_read(text);
}

static void writes_whole_numbers(void **state) {
    (void)state;
    const int64_t values[] = {0, 1, -1, 9, 10, -10, 1234567890123, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char expected[GP_DECIMAL_BYTES];
        char buffer[GP_DECIMAL_BYTES];
        snprintf(expected, sizeof expected, "%lld", (long long)values[i]);
        assert_int_equal(gp_decimal_write_whole(buffer, values[i]), strlen(expected));
        assert_string_equal(buffer, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_any_bit_pattern_as_the_c_library_does),
        cmocka_unit_test(writes_everyday_numbers),
        cmocka_unit_test(reads_back_what_it_writes),
        cmocka_unit_test(reads_random_spellings_as_the_c_library_does),
        cmocka_unit_test(reads_middles_between_neighbours),
        cmocka_unit_test(reads_only_what_is_a_number),
        cmocka_unit_test(reads_any_number_of_digits),
        cmocka_unit_test(writes_whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
