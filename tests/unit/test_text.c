#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diagnostics.h"
#include "base/text.h"

static size_t valid_bytes(const char *text) {
    return gp_utf8_prefix(text, strlen(text));
}

static void test_valid_utf8(void **state) {
    (void)state;
    assert_int_equal(valid_bytes(""), 0);
    assert_int_equal(valid_bytes("plain"), 5);
    assert_int_equal(valid_bytes("\xc2\x80\xdf\xbf"), 4);
    assert_int_equal(valid_bytes("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80"), 9);
    assert_int_equal(valid_bytes("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), 8);
    assert_int_equal(gp_utf8_prefix("a\0b", 3), 3);
}

static void test_invalid_utf8(void **state) {
    (void)state;
    const char *const broken[] = {
        "\x80",             /* continuation first */
        "\xc0\xaf",         /* overlong, two bytes */
        "\xe0\x9f\xbf",     /* overlong, three */
        "\xf0\x8f\xbf\xbf", /* overlong, four */
        "\xed\xa0\x80",     /* surrogate */
        "\xf4\x90\x80\x80", /* above U+10FFFF */
        "\xf8\x88\x80\x80\x80",
        "\xe4\xbd",         /* cut */
        "\xc3(",
        "\xff",
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) assert_int_equal(valid_bytes(broken[i]), 0);
    assert_int_equal(valid_bytes("ab\xff"), 2);
}

/* Eight bytes at a time or one by one, a byte ends the run wherever it stands, and no other does. */
static void test_runs_end_at_every_place(void **state) {
    (void)state;
    char text[33];
    for (int byte = 0; byte < 256; byte++) {
        bool ends = byte < 0x20 || byte == '"' || byte == '\\';
        for (size_t length = 1; length < sizeof text; length++) {
            for (size_t place = 0; place < length; place++) {
                memset(text, 'a', length);
                text[place] = (char)byte;
                if (gp_json_letters(text, length) != (ends ? place : length)) fail_msg("%d at %zu of %zu", byte, place, length);
                size_t valid = byte < 0x80 ? length : place;
                if (gp_utf8_prefix(text, length) != valid) fail_msg("UTF-8: %d at %zu of %zu", byte, place, length);
            }
        }
    }
}

static void test_copies_are_valid_and_cut_between_characters(void **state) {
    (void)state;
    char buffer[8];
    assert_int_equal(gp_text_copy(buffer, sizeof buffer, "abc", 3), 3);
    assert_string_equal(buffer, "abc");
    gp_text_copy(buffer, sizeof buffer, "\xe6\x98\xbe\xe5\xad\x98\xe6\x98\xbe", 9);
    assert_string_equal(buffer, "\xe6\x98\xbe\xe5\xad\x98");
    gp_text_copy(buffer, sizeof buffer, "a\xff" "b", 3);
    assert_string_equal(buffer, "a\xef\xbf\xbd" "b");
    gp_text_copy(buffer, sizeof buffer, "abcdefgh", 8);
    assert_string_equal(buffer, "abcdefg");
}

static void test_case_is_ignored_where_said(void **state) {
    (void)state;
    assert_true(gp_text_is_folded("RTX 4090", "rtx 4090", 8));
    assert_false(gp_text_is_folded("RTX 4090", "rtx 409", 7));
    assert_true(gp_text_is("bf16", "bf16|fp16", 4));
    assert_false(gp_text_is("bf16", "BF16", 4));
    assert_true(gp_starts_folded("Llama-3", 7, "llama", 5));
    assert_false(gp_starts_folded("Lla", 3, "llama", 5));
    assert_true(gp_contains_folded("meta-llama/Llama-3", 18, "LLAMA-3", 7));
    assert_false(gp_contains_folded("abc", 3, "abcd", 4));
}

static int distance(const char *a, const char *b, int limit) {
    return gp_text_distance(a, strlen(a), b, strlen(b), limit);
}

static void test_edit_distance(void **state) {
    (void)state;
    assert_int_equal(distance("", "", 3), 0);
    assert_int_equal(distance("seq_len", "seq_len", 3), 0);
    assert_int_equal(distance("seq_len", "SEQ_LEN", 3), 0);
    assert_int_equal(distance("seqlen", "seq_len", 3), 1);
    assert_int_equal(distance("seq_lne", "seq_len", 3), 1);
    assert_int_equal(distance("abcd", "badc", 3), 2);
    assert_int_equal(distance("kitten", "sitting", 5), 3);
    assert_int_equal(distance("kitten", "sitting", 2), 3);
    assert_int_equal(distance("abc", "xyz", 1), 2);
    assert_int_equal(distance("", "abc", 9), 3);
}

/* The early end of the search must not change any result: compared with a generous limit on many words. */
static void test_edit_distance_does_not_depend_on_the_limit(void **state) {
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char words[2][8];
        size_t lengths[2];
        for (int i = 0; i < 2; i++) {
            seed = seed * 1664525u + 1013904223u;
            lengths[i] = seed >> 28 & 7;
            for (size_t j = 0; j < lengths[i]; j++) {
                seed = seed * 1664525u + 1013904223u;
                words[i][j] = (char)('a' + (seed >> 24) % 3);
            }
        }
        int exact = gp_text_distance(words[0], lengths[0], words[1], lengths[1], 100);
        for (int limit = 0; limit < 7; limit++) {
            int bounded = gp_text_distance(words[0], lengths[0], words[1], lengths[1], limit);
            assert_int_equal(bounded, exact <= limit ? exact : limit + 1);
        }
    }
}

static const char *nearest_of(const char *word) {
    const char *const names[] = {"seq_len", "micro_batch", "grad_accum", "zero", "tp", "pp", "adamw", "adamw8bit"};
    gp_nearest search;
    gp_nearest_start(&search, word, strlen(word));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) gp_nearest_offer(&search, names[i], strlen(names[i]));
    return search.best;
}

static void test_nearest_name(void **state) {
    (void)state;
    assert_string_equal(nearest_of("seqlen"), "seq_len");
    assert_string_equal(nearest_of("mircobatch"), "micro_batch");
    assert_string_equal(nearest_of("batch"), "micro_batch");
    assert_string_equal(nearest_of("zeor"), "zero");
    assert_string_equal(nearest_of("tpp"), "tp");
    assert_string_equal(nearest_of("adamw8b"), "adamw8bit");
    assert_string_equal(nearest_of("adamv"), "adamw");
    assert_null(nearest_of("temperature"));
    assert_null(nearest_of(""));
}

static void test_long_words_are_near_to_nothing(void **state) {
    (void)state;
    char word[4096];
    memset(word, 'z', sizeof word);
    gp_nearest search;
    gp_nearest_start(&search, word, sizeof word);
    gp_nearest_offer(&search, "zzz", 3);
    assert_null(search.best);
    assert_int_equal(gp_text_distance(word, sizeof word, "z", 1, 3), 4);
}

static void test_numbers_come_back(void **state) {
    (void)state;
    const double values[] = {0, 1, 4096, 0.9, 0.1 + 0.2, 7e9, 1e21, 1.0 / 3, -2.5, 5e-324, 9007199254740991.0};
    char text[32];
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        assert_true(gp_text_number(text, sizeof text, values[i]) < (int)sizeof text);
        double back = strtod(text, NULL);
        assert_memory_equal(&back, &values[i], sizeof back);
    }
    gp_text_number(text, sizeof text, 0.9);
    assert_string_equal(text, "0.9");
}

static void test_diagnostics_are_bounded(void **state) {
    (void)state;
    static gp_diagnostics list;
    gp_diagnostics_clear(&list);
    for (int i = 0; i < GP_DIAGNOSTICS_MAX + 5; i++) {
        gp_argue_number(gp_diagnose(&list, GP_CODE_OUT_OF_RANGE, "train.seq_len"), "value", i);
    }
    assert_int_equal(list.count, GP_DIAGNOSTICS_MAX);
    assert_int_equal(list.dropped, 5);
    assert_true(list.rows[GP_DIAGNOSTICS_MAX - 1].arguments[0].number == GP_DIAGNOSTICS_MAX - 1);
    assert_true(gp_has_errors(&list));
}

static void test_diagnostic_arguments_are_safe(void **state) {
    (void)state;
    static gp_diagnostics list;
    gp_diagnostics_clear(&list);
    assert_false(gp_has_errors(&list));
    char path[300];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    gp_diagnostic *row = gp_diagnose(&list, GP_CODE_LINK_NEWER, path);
    assert_int_equal(strlen(row->path), GP_PATH_BYTES - 1);
    gp_argue_text(row, "a", path);
    gp_argue_text(row, "b", NULL);
    gp_argue_number(row, "c", (double)INFINITY);
    gp_argue_text(row, "d", "\xff");
    gp_argue_text(row, "e", "one too many");
    assert_int_equal(row->argument_count, GP_ARGUMENTS_MAX);
    assert_int_equal(strlen(row->arguments[0].text), GP_TEXT_BYTES - 1);
    assert_string_equal(row->arguments[1].text, "");
    assert_string_equal(row->arguments[2].text, "inf");
    assert_int_equal(row->arguments[2].kind, GP_ARGUMENT_TEXT);
    assert_string_equal(row->arguments[3].text, "\xef\xbf\xbd");
    assert_false(gp_has_errors(&list));
}

static void test_code_keys_are_their_names(void **state) {
    (void)state;
    const char *const names[] = {
#define GP_DIAGNOSTIC(code, severity, key) #code,
#include "base/diagnostics.def"
#undef GP_DIAGNOSTIC
    };
    for (int code = 0; code < GP_CODE_COUNT; code++) {
        const char *key = gp_code_key((gp_code)code);
        assert_true(gp_text_is_folded(names[code], key, strlen(key)));
        for (size_t i = 0; key[i] != '\0'; i++) assert_true(key[i] == gp_lower(key[i]));
    }
    assert_int_equal(gp_code_severity(GP_CODE_MISSING), GP_SEVERITY_ERROR);
    assert_int_equal(gp_code_severity(GP_CODE_LINK_NEWER), GP_SEVERITY_WARNING);
    assert_int_equal(gp_code_severity(GP_CODE_DEFAULT_VALUE), GP_SEVERITY_ASSUMPTION);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_utf8),
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_runs_end_at_every_place),
        cmocka_unit_test(test_copies_are_valid_and_cut_between_characters),
        cmocka_unit_test(test_case_is_ignored_where_said),
        cmocka_unit_test(test_edit_distance),
        cmocka_unit_test(test_edit_distance_does_not_depend_on_the_limit),
        cmocka_unit_test(test_nearest_name),
        cmocka_unit_test(test_long_words_are_near_to_nothing),
        cmocka_unit_test(test_numbers_come_back),
        cmocka_unit_test(test_diagnostics_are_bounded),
        cmocka_unit_test(test_diagnostic_arguments_are_safe),
        cmocka_unit_test(test_code_keys_are_their_names),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
