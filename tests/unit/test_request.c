#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "gpuplan.h"
#include "base/json_scan.h"
#include "request/request.h"

static gp_diagnostics faults;

/* Parses and tells the faults; the tree is dropped. */
static const char *faults_of_bytes(const char *text, size_t length) {
    gp_diagnostics_clear(&faults);
    cJSON *tree = gp_request_parse(text, length, &faults);
    bool told = tree != NULL || faults.count > 0;
    cJSON_Delete(tree);
    assert_true(told);
    return faults_text(&faults);
}

static const char *faults_of(const char *text) {
    return faults_of_bytes(text, strlen(text));
}

static void assert_fault_at(const char *text, const char *fault, const char *offset) {
    assert_string_equal(faults_of(text), fault);
    assert_string_equal(fault_argument(&faults, faults.rows[0].code, "offset"), offset);
}

static void test_good_requests(void **state) {
    (void)state;
    const char *const good[] = {
        "{}", " {\"a\":[1,-2.5e+3,0,0.5,true,false,null,\"x\"]} \r\n\t", "{\"\":{\"a\":{}},\"b\":[]}",
        "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"}", "\xef\xbb\xbf{\"a\":1}", "{\"\xe6\x98\xbe\":1}",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) assert_string_equal(faults_of(good[i]), "");
}

static void test_text_that_is_not_json(void **state) {
    (void)state;
    static const struct { const char *text, *offset; } bad[] = {
        {"", "0"}, {"   ", "3"}, {"{", "1"}, {"{\"a\"", "4"}, {"{\"a\":", "5"}, {"{\"a\":1", "6"}, {"{\"a\":1,", "7"},
        {"{\"a\":1,}", "7"}, {"[1,]", "3"}, {"[}", "1"}, {"{a:1}", "1"}, {"{'a':1}", "1"}, {"{\"a\" 1}", "5"},
        {"{\"a\":NaN}", "5"}, {"{\"a\":Infinity}", "5"}, {"{\"a\":-Infinity}", "5"}, {"{\"a\":nan}", "5"},
        {"{\"a\":True}", "5"}, {"{\"a\":nul}", "5"}, {"{\"a\":01}", "6"}, {"{\"a\":1.}", "5"}, {"{\"a\":.5}", "5"},
        {"{\"a\":+1}", "5"}, {"{\"a\":1e}", "5"}, {"{\"a\":-}", "5"}, {"{\"a\":0x10}", "6"}, {"{\"a\":1.5.5}", "8"},
        {"{\"a\":\"\\x\"}", "6"}, {"{\"a\":\"\\u00g0\"}", "6"}, {"{\"a\":\"\\ud800\"}", "6"},
        {"{\"a\":\"\\ude00\"}", "6"}, {"{\"a\":\"\\ud800\\u0041\"}", "6"}, {"{\"a\":\"\\u0000\"}", "6"},
        {"{\"a\":\"\n\"}", "6"}, {"{\"a\":\"b}", "8"}, {"{/**/}", "1"}, {"{\"a\":1 \"b\":2}", "7"}, {"{1:2}", "1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_fault_at(bad[i].text, "invalid_json ", bad[i].offset);
}

static void test_what_follows_the_request(void **state) {
    (void)state;
    assert_fault_at("{} x", "trailing_text ", "3");
    assert_fault_at("{}{}", "trailing_text ", "2");
    assert_fault_at("{\"a\":1}}", "trailing_text ", "7");
}

static void test_bytes_that_are_not_text(void **state) {
    (void)state;
    assert_fault_at("{\"a\":\"\xff\"}", "invalid_utf8 ", "6");
    assert_fault_at("{\"a\":\"\xed\xa0\x80\"}", "invalid_utf8 ", "6");
    assert_string_equal(faults_of_bytes("{\"a\":\0 1}", 9), "invalid_json ");
    assert_string_equal(fault_argument(&faults, GP_CODE_INVALID_JSON, "offset"), "5");
    assert_string_equal(faults_of_bytes("{}\0", 3), "trailing_text ");
    assert_string_equal(faults_of_bytes(NULL, 0), "invalid_json ");
    assert_string_equal(faults_of_bytes(NULL, 12), "invalid_json ");
}

static void test_the_root_is_an_object(void **state) {
    (void)state;
    const char *const roots[] = {"[]", "1", "\"x\"", "null", "true"};
    for (size_t i = 0; i < 5; i++) assert_string_equal(faults_of(roots[i]), "not_an_object ");
}

static void test_keys_once(void **state) {
    (void)state;
    assert_string_equal(faults_of("{\"a\":1,\"a\":2}"), "duplicate_key a");
    assert_string_equal(faults_of("{\"a\":1,\"a\":2,\"a\":3}"), "duplicate_key a");
    assert_string_equal(faults_of("{\"a\":1,\"A\":2}"), "");
    assert_string_equal(faults_of("{\"job\":{\"train\":{\"tp\":1,\"tp\":2}}}"), "duplicate_key train.tp");
    assert_string_equal(faults_of("{\"a\":[0,{\"b\":1,\"c\":2,\"b\":3}]}"), "duplicate_key a.1.b");
    assert_string_equal(faults_of("{\"a\":1,\"\\u0061\":2}"), "duplicate_key a");
}

static void test_numbers_are_finite(void **state) {
    (void)state;
    assert_string_equal(faults_of("{\"job\":{\"train\":{\"seq_len\":1e999}}}"), "not_finite train.seq_len");
    assert_string_equal(faults_of("{\"a\":[1,-1e999]}"), "not_finite a.1");
    assert_string_equal(faults_of("{\"a\":1e308,\"b\":1e-999}"), "");
}

static void test_nesting_is_bounded(void **state) {
    (void)state;
    char text[200];
    for (int depth = 31; depth <= 33; depth++) {
        snprintf(text, sizeof text, "{\"a\":%.*s%.*s}", depth - 1, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", depth - 1,
                 "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
        assert_string_equal(faults_of(text), depth <= GP_JSON_DEPTH_MAX ? "" : "nested_too_deeply ");
    }
    assert_string_equal(fault_argument(&faults, GP_CODE_NESTED_TOO_DEEPLY, "max"), "32");
}

/* A text of `unit` repeated up to `length` bytes, in braces when asked. */
static char *repeated(const char *unit, size_t length) {
    char *text = malloc(length + 1);
    assert_non_null(text);
    size_t step = strlen(unit);
    for (size_t i = 0; i < length; i++) text[i] = unit[i % step];
    text[length] = '\0';
    return text;
}

static void test_hostile_sizes(void **state) {
    (void)state;
    static const struct { const char *unit; size_t length; const char *fault; } bad[] = {
        {"[", 10000000, "request_too_long "}, {"[", 1000000, "nested_too_deeply "},
        {"{\"a\":", 1000000, "nested_too_deeply "}, {" ", GP_REQUEST_BYTES_MAX, "invalid_json "},
        {"[1,", 1000000, "nested_too_deeply "}, {"\"", GP_REQUEST_BYTES_MAX, "trailing_text "},
        {"1", GP_REQUEST_BYTES_MAX, "invalid_json "}, {"1", GP_REQUEST_BYTES_MAX + 1, "request_too_long "},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *text = repeated(bad[i].unit, bad[i].length);
        assert_string_equal(faults_of_bytes(text, bad[i].length), bad[i].fault);
        free(text);
    }
}

/* Objects of 60,000 keys: all different, and two of them the same. */
static void test_many_keys(void **state) {
    (void)state;
    enum { KEYS = 60000 };
    char *text = malloc(KEYS * 16 + 16);
    assert_non_null(text);
    for (int repeat = 0; repeat < 2; repeat++) {
        size_t length = (size_t)snprintf(text, 2, "{");
        for (int i = 0; i < KEYS; i++) {
            int key = repeat == 1 && i == KEYS - 1 ? 7 : (i * 7919) % KEYS;
            length += (size_t)snprintf(text + length, 16, "%s\"%x\":1", i > 0 ? "," : "", (unsigned)key);
        }
        length += (size_t)snprintf(text + length, 2, "}");
        assert_string_equal(faults_of_bytes(text, length), repeat == 1 ? "duplicate_key 7" : "");
    }
    free(text);
}

static void test_too_many_values(void **state) {
    (void)state;
    char *text = repeated("1,", 2 * GP_JSON_VALUES_MAX + 4);
    text[0] = '[';
    text[1] = ' ';
    assert_string_equal(faults_of(text), "too_many_values ");
    free(text);
}

static void test_long_numbers(void **state) {
    (void)state;
    char text[128];
    for (int digits = 59; digits <= 61; digits++) {
        snprintf(text, sizeof text, "{\"a\":%.*s}", digits,
                 "1111111111111111111111111111111111111111111111111111111111111111");
        assert_string_equal(faults_of(text), digits <= GP_JSON_NUMBER_MAX ? "" : "invalid_json ");
    }
}

/* No beginning of a request is taken for a whole one, and none is read past its end. */
static void test_every_prefix(void **state) {
    (void)state;
    const char *request = "{\"gpuplan\":1,\"op\":\"plan\",\"job\":{\"task\":\"full\",\"model\":{\"layers\":32,\"x\":"
                          "[1.5e3,true,null,\"\\u00e9\\ud83d\\ude00\"]}}}";
    for (size_t length = 0; length < strlen(request); length++) {
        char *prefix = malloc(length > 0 ? length : 1);
        assert_non_null(prefix);
        memcpy(prefix, request, length);
        assert_string_equal(faults_of_bytes(prefix, length), "invalid_json ");
        free(prefix);
    }
    assert_string_equal(faults_of(request), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_requests),
        cmocka_unit_test(test_text_that_is_not_json),
        cmocka_unit_test(test_what_follows_the_request),
        cmocka_unit_test(test_bytes_that_are_not_text),
        cmocka_unit_test(test_the_root_is_an_object),
        cmocka_unit_test(test_keys_once),
        cmocka_unit_test(test_numbers_are_finite),
        cmocka_unit_test(test_nesting_is_bounded),
        cmocka_unit_test(test_hostile_sizes),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_too_many_values),
        cmocka_unit_test(test_long_numbers),
        cmocka_unit_test(test_every_prefix),
    };
    return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
