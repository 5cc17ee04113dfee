/* docs/request.md lists every field as fields.def has it. Run from the root of the repository. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request/job.h"

typedef struct {
    char text[2048];
    size_t length;
} line;

static void add(line *to, const char *text) {
    to->length += (size_t)snprintf(to->text + to->length, sizeof to->text - to->length, "%s", text);
}

static void add_choices(line *to, gp_field field) {
    char choice[64];
    for (int i = 0; i < gp_choice_count(field); i++) {
        int length = 0;
        const char *text = gp_choice_text(field, i, &length);
        snprintf(choice, sizeof choice, "%s`%.*s`", i > 0 ? " " : "", length, text);
        add(to, choice);
    }
}

/* The row of a field in the table: path, what it takes, default, key in links. */
static const char *expected_row(const gp_field_row *row) {
    static line to;
    char range[96];
    to.length = 0;
    add(&to, "| `");
    add(&to, row->path);
    add(&to, "` | ");
    bool is_number = row->kind == GP_KIND_WHOLE || row->kind == GP_KIND_REAL;
    snprintf(range, sizeof range, "%s, %.15g to %.15g%s%s", row->kind == GP_KIND_WHOLE ? "whole number" : "number",
             row->min, row->max, row->unit[0] == '\0' ? "" : " ", row->unit);
    if (is_number) add(&to, range);
    if (row->kind == GP_KIND_SWITCH) add(&to, "`true` `false`");
    if (row->kind == GP_KIND_TEXT) add(&to, "text");
    add_choices(&to, row->field);
    if (row->kind == GP_KIND_OPEN) add(&to, ", or any text");
    if ((row->solve & GP_SOLVE_AUTO) != 0) add(&to, ", `auto`");
    if ((row->solve & GP_SOLVE_MAX) != 0) add(&to, ", `max`");
    add(&to, row->initial[0] == '\0' ? " | " : " | `");
    add(&to, row->initial);
    add(&to, row->initial[0] == '\0' ? "| `" : "` | `");
    add(&to, row->link);
    add(&to, "` |\n");
    return to.text;
}

static void test_every_field_is_documented(void **state) {
    (void)state;
    static char page[65536];
    FILE *file = fopen("docs/request.md", "rb");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    int missing = 0;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const char *row = expected_row(gp_field_info((gp_field)i));
        if (strstr(page, row) != NULL) continue;
        missing++;
        print_message("docs/request.md lacks: %s", row);
    }
    assert_int_equal(missing, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_field_is_documented)};
    return cmocka_run_group_tests_name("request docs", tests, NULL, NULL);
}
