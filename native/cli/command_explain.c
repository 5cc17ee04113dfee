/* command_explain.c: what stands behind a name of a report: a formula, an item of the ledger, a field, a code. */
#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "columns.h"
#include "commands.h"
#include "base/diagnostics.h"
#include "faults.h"
#include "request/job.h"
#include "json.h"
#include "output.h"
#include "table.h"
#include "base/text.h"

static cJSON *ask(const char *op, const char *key, const char *value, gp_buffer *text) {
    cJSON *question = cJSON_CreateObject();
    cJSON_AddStringToObject(question, "op", op);
    cJSON_AddStringToObject(question, key, value);
    gp_buffer request = {0};
    gp_json_print(&request, question, false);
    cJSON *report = gp_json_ask(&request, text);
    cJSON_Delete(question);
    gp_buffer_release(&request);
    return report;
}

static void line(gp_buffer *buffer, const gp_view *view, const char *label, const char *text) {
    gp_buffer_text(buffer, "  ");
    gp_style_start(buffer, view, GP_DIM);
    gp_pad_right(buffer, gp_message(view->language, label), 10);
    gp_style_end(buffer, view, GP_DIM);
    gp_wrap(buffer, text, 12, 12, view->width);
    gp_buffer_text(buffer, "\n");
}

/* "L  layers" for each symbol of an expression, in the order they appear, once. */
static void symbols(gp_buffer *buffer, const gp_view *view, const char *expression) {
    gp_buffer seen = {0};
    gp_buffer_text(&seen, " ");
    for (const char *at = expression; *at;) {
        const size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
        if (length == 0 || length > 60 || gp_is_digit(*at)) {
            at += length > 0 ? length + (at[length] == '.') : 1;
            continue;
        }
        char name[64], mark[68];
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        snprintf(mark, sizeof mark, " %s ", name);
        at += length;
        const bool is_function = at[strspn(at, " ")] == '(';
        if (is_function || strstr(gp_buffer_string(&seen), mark)) continue;
        gp_buffer_text(&seen, mark + 1);
        gp_buffer text = {0};
        gp_buffer_text(&text, name);
        char key[96];
        snprintf(key, sizeof key, "symbol.%s", name);
        if (gp_message_find(view->language, key)) {
            gp_buffer_text(&text, "  ");
            gp_buffer_text(&text, gp_message(view->language, key));
        }
        line(buffer, view, seen.length == strlen(mark) ? "cli.explain.symbols" : "cli.blank", gp_buffer_string(&text));
        gp_buffer_release(&text);
    }
    gp_buffer_release(&seen);
}

static void formula(gp_buffer *buffer, const gp_view *view, const cJSON *row) {
    const char *id = gp_json_text(row, "id");
    char key[160];
    snprintf(key, sizeof key, "formula.%s", id);
    gp_styled(buffer, view, GP_STRONG, id);
    gp_buffer_text(buffer, "\n");
    const char *meaning = gp_message_find(view->language, key);
    if (meaning) line(buffer, view, "cli.explain.meaning", meaning);
    line(buffer, view, "cli.explain.formula", gp_json_text(row, "expression"));
    symbols(buffer, view, gp_json_text(row, "expression"));
    line(buffer, view, "cli.explain.source", gp_json_text(row, "source"));
}

/* A name with its words: `family`.id, and `family`.id.help when there is one. */
static bool words(gp_buffer *buffer, const gp_view *view, const char *family, const char *id) {
    char key[160];
    snprintf(key, sizeof key, "%s.%s", family, id);
    const char *text = gp_message_find(view->language, key);
    if (!text) return false;
    gp_styled(buffer, view, GP_STRONG, id);
    gp_buffer_text(buffer, "\n");
    line(buffer, view, "cli.explain.meaning", text);
    snprintf(key, sizeof key, "%s.%s.help", family, id);
    if (gp_message_find(view->language, key)) line(buffer, view, "cli.blank", gp_message(view->language, key));
    return true;
}

/* What the field table says of a path. */
static void field_facts(gp_buffer *buffer, const gp_view *view, const char *path) {
    cJSON *report = ask("catalog", "kind", "fields", NULL);
    const cJSON *row;
    cJSON_ArrayForEach(row, gp_json_at(report, "fields")) {
        if (strcmp(gp_json_text(row, "path"), path) != 0) continue;
        gp_buffer text = {0};
        if (gp_json_has(row, "max")) {
            gp_view_message(&text, view, "cli.explain.range", path, row);
            line(buffer, view, "cli.explain.allowed", gp_buffer_string(&text));
        } else if (cJSON_GetArraySize(gp_json_at(row, "choices")) > 0) {
            gp_view_argument(&text, view, gp_json_at(row, "choices"));
            line(buffer, view, "cli.explain.allowed", gp_buffer_string(&text));
        }
        if (strcmp(gp_json_text(row, "kind"), "switch") == 0)
            line(buffer, view, "cli.explain.allowed", gp_message(view->language, "cli.explain.boolean"));
        gp_buffer_clear(&text);
        const cJSON *initial = gp_json_at(row, "default");
        if (initial) gp_view_argument(&text, view, initial);
        if (text.length > 0) line(buffer, view, "cli.explain.default", gp_buffer_string(&text));
        gp_buffer_release(&text);
    }
    cJSON_Delete(report);
}

/* Fields by path, by its last part or by their key in links, as `--set` takes them. */
static bool fields_called(gp_buffer *buffer, const gp_view *view, const char *id) {
    bool found = false;
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        const gp_field_row *row = gp_field_info((gp_field)i);
        const char *dot = strrchr(row->path, '.');
        bool called = strcmp(row->path, id) == 0 || strcmp(row->link, id) == 0 || (dot && strcmp(dot + 1, id) == 0);
        if (!called) continue;
        if (found) gp_buffer_text(buffer, "\n");
        found = words(buffer, view, "field", row->path) || found;
        field_facts(buffer, view, row->path);
    }
    return found;
}

static bool explain(gp_buffer *buffer, const gp_view *view, const char *id, const cJSON *formulas) {
    static const char *const families[] = {"error", "warning", "assumption", "knob", "rule", "constraint", "phase"};
    static const char *const owners[] = {"field", "field.hardware", "field.train.lora"};
    bool found = words(buffer, view, "item", id);
    found = found || fields_called(buffer, view, id);
    /* Fields of a grammar of their own (hardware.gpu, train.lora.targets) have words alone. */
    for (size_t i = 0; i < sizeof owners / sizeof *owners && !found; i++) found = words(buffer, view, owners[i], id);
    for (size_t i = 0; i < sizeof families / sizeof *families && !found; i++) {
        found = words(buffer, view, families[i], id);
    }
    const cJSON *row;
    cJSON_ArrayForEach(row, formulas) {
        if (buffer->length > 0) gp_buffer_text(buffer, "\n");
        formula(buffer, view, row);
        found = true;
    }
    return found;
}

/* Every formula with its meaning. */
static int list(const gp_arguments *arguments) {
    const gp_view *view = &arguments->view;
    gp_buffer text = {0}, shown = {0};
    cJSON *report = ask("catalog", "kind", "formulas", &text);
    gp_table table;
    gp_table_start(&table, "ll");
    const cJSON *row;
    cJSON_ArrayForEach(row, gp_json_at(report, "formulas")) {
        char key[160];
        snprintf(key, sizeof key, "formula.%s", gp_json_text(row, "id"));
        gp_table_row(&table);
        gp_buffer_text(gp_table_cell(&table, 0), gp_json_text(row, "id"));
        const char *meaning = gp_message_find(view->language, key);
        gp_buffer_text(gp_table_cell(&table, 1), meaning ? meaning : gp_json_text(row, "expression"));
    }
    if (arguments->json) gp_buffer_text(&text, "\n");
    gp_table_print(&table, &shown, view, false);
    const int exit_code = gp_output_finish(arguments->json ? &text : &shown, gp_exit_code_of(report));
    cJSON_Delete(report);
    gp_buffer_release(&text);
    gp_buffer_release(&shown);
    return exit_code;
}

/* Nearest name among all message keys of the families that can be explained. */
static void unknown(const gp_view *view, const char *id, const cJSON *formulas) {
    static const char *const families[] = {"item.", "field.", "error.", "warning.", "assumption.", "knob.", "rule."};
    gp_nearest search;
    gp_nearest_start(&search, id, strlen(id));
    const cJSON *row;
    cJSON_ArrayForEach(row, formulas) {
        const char *name = gp_json_text(row, "id");
        gp_nearest_offer(&search, name, strlen(name));
    }
    for (int i = 0; i < gp_message_row_count; i++) {
        const char *key = gp_message_rows[i].key;
        for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
            const size_t length = strlen(families[k]);
            if (strncmp(key, families[k], length) == 0) gp_nearest_offer(&search, key + length, strlen(key + length));
        }
    }
    gp_fault(view, "cli.fault.unknown_id", id, search.best ? search.best : "");
}

int gp_command_explain(const gp_arguments *arguments) {
    if (arguments->operand_count == 0) return list(arguments);
    const gp_view *view = &arguments->view;
    const char *id = arguments->operands[0];
    gp_buffer text = {0}, shown = {0};
    cJSON *report = ask("explain", "id", id, &text);
    const cJSON *formulas = gp_json_at(report, "formulas");
    int exit_code = GP_EXIT_FITS;
    if (!explain(&shown, view, id, formulas)) {
        cJSON *all = ask("catalog", "kind", "formulas", NULL);
        unknown(view, id, gp_json_at(all, "formulas"));
        cJSON_Delete(all);
        exit_code = GP_EXIT_REQUEST;
    }
    if (arguments->json) {
        gp_buffer_text(&text, "\n");
        exit_code = gp_exit_code_of(report);
    }
    exit_code = gp_output_finish(arguments->json ? &text : &shown, exit_code);
    cJSON_Delete(report);
    gp_buffer_release(&text);
    gp_buffer_release(&shown);
    return exit_code;
}
