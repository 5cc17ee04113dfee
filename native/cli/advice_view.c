/* advice_view.c: the five steps and the next knobs. */
#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "columns.h"
#include "json.h"
#include "plan_view.h"
#include "table.h"

/* Numbers and texts of a step, as the arguments of its sentences. */
static cJSON *step_arguments(const cJSON *step) {
    cJSON *arguments = cJSON_Duplicate(gp_json_at(step, "numbers"), true);
    if (!arguments) arguments = cJSON_CreateObject();
    const cJSON *text;
    cJSON_ArrayForEach(text, gp_json_at(step, "texts")) {
        cJSON_AddStringToObject(arguments, text->string, text->valuestring);
    }
    return arguments;
}

static void step(gp_buffer *buffer, const gp_view *view, const cJSON *row, int title_columns) {
    cJSON *arguments = step_arguments(row);
    char key[96];
    gp_buffer text = {0};
    snprintf(key, sizeof key, "rule.%s", gp_json_text(row, "rule"));
    gp_view_message(&text, view, key, "", arguments);
    const char *constraint = gp_json_text(row, "constraint");
    if (*constraint) {
        snprintf(key, sizeof key, "constraint.%s", constraint);
        gp_buffer_text(&text, gp_message(view->language, "cli.space"));
        gp_view_message(&text, view, key, "", arguments);
    }
    gp_buffer_printf(buffer, "  %.0f  ", gp_json_number(row, "step"));
    gp_pad_right(buffer, gp_message_of(view->language, "step", gp_json_text(row, "id")), title_columns);
    gp_buffer_text(buffer, "  ");
    gp_wrap(buffer, gp_buffer_string(&text), 7 + title_columns, 7 + title_columns, view->width);
    gp_buffer_text(buffer, "\n");
    gp_buffer_release(&text);
    cJSON_Delete(arguments);
}

static void steps(gp_buffer *buffer, const gp_view *view, const cJSON *rows) {
    if (!rows || !rows->child) return;
    gp_view_heading(buffer, view, "cli.steps");
    int title_columns = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        const int columns = gp_columns(gp_message_of(view->language, "step", gp_json_text(row, "id")));
        if (columns > title_columns) title_columns = columns;
    }
    cJSON_ArrayForEach(row, rows) {
        step(buffer, view, row, title_columns);
    }
}

/* "+18 %" and the like: what a knob costs, worded by its kind. */
static void cost(gp_buffer *buffer, const gp_view *view, const cJSON *knob) {
    const cJSON *figures = gp_json_at(knob, "cost");
    const char *kind = gp_json_text(figures, "kind");
    const double low = gp_json_number(figures, "low"), high = gp_json_number(figures, "high");
    char key[64];
    snprintf(key, sizeof key, high <= 0 && low <= 0 ? "cost.%s" : low >= high ? "cost.%s.about" : "cost.%s.range", kind);
    cJSON *arguments = cJSON_CreateObject();
    const bool is_share = strcmp(kind, "time") == 0;
    char text[32];
    snprintf(text, sizeof text, is_share ? "%.0f" : "%.2g", is_share ? 100 * low : low);
    cJSON_AddStringToObject(arguments, "low", text);
    snprintf(text, sizeof text, is_share ? "%.0f" : "%.2g", is_share ? 100 * high : high);
    cJSON_AddStringToObject(arguments, "high", text);
    gp_view_message(buffer, view, key, "", arguments);
    cJSON_Delete(arguments);
}

static void setting_value(gp_buffer *buffer, const cJSON *value) {
    if (cJSON_IsString(value)) gp_buffer_foreign(buffer, value->valuestring);
    else gp_json_print(buffer, value, false);
}

/* "train.recompute=full", ready to be typed behind --set. */
static void settings(gp_buffer *buffer, const cJSON *set) {
    const cJSON *value;
    cJSON_ArrayForEach(value, set) {
        if (value != set->child) gp_buffer_text(buffer, " ");
        const char *text = cJSON_IsString(value) ? value->valuestring : "";
        const char *quote = strpbrk(text, " &;()$'\"") ? "\"" : "";
        gp_buffer_text(buffer, value->string);
        gp_buffer_text(buffer, "=");
        gp_buffer_text(buffer, quote);
        setting_value(buffer, value);
        gp_buffer_text(buffer, quote);
    }
}

static void knob(gp_table *table, const gp_view *view, const cJSON *row, int number) {
    gp_table_row(table);
    gp_buffer_printf(gp_table_cell(table, 0), "%d", number);
    gp_buffer *title = gp_table_cell(table, 1);
    char key[96];
    snprintf(key, sizeof key, "knob.%s", gp_json_text(row, "id"));
    gp_view_message(title, view, key, "", gp_json_at(row, "set"));
    const double saves_bytes = gp_json_number(row, "saves_bytes");
    gp_buffer *frees = gp_table_cell(table, 2);
    gp_buffer_text(frees, saves_bytes > 0 ? "-" : saves_bytes < 0 ? "+" : "");
    gp_view_size(frees, view, saves_bytes < 0 ? -saves_bytes : saves_bytes);
    gp_view_size(gp_table_cell(table, 3), view, gp_json_number(row, "peak_bytes_after"));
    const char *after = gp_json_text(row, "verdict_after");
    const gp_style style = strcmp(after, "fits") == 0 ? GP_GOOD : strcmp(after, "tight") == 0 ? GP_CAREFUL : GP_BAD;
    gp_styled(gp_table_cell(table, 4), view, style, gp_message_of(view->language, "verdict", after));
    cost(gp_table_cell(table, 5), view, row);
}

static void knobs(gp_buffer *buffer, const gp_view *view, const cJSON *rows) {
    if (!rows || !rows->child) return;
    static const char *const headings[] = {"cli.knobs.number", "cli.knobs.knob", "cli.knobs.frees", "cli.knobs.after",
                                           "cli.knobs.verdict", "cli.knobs.cost"};
    gp_view_heading(buffer, view, "cli.knobs");
    gp_table table;
    gp_table_start(&table, "rlrrll");
    gp_table_row(&table);
    for (int i = 0; i < 6; i++) gp_buffer_text(gp_table_cell(&table, i), gp_message(view->language, headings[i]));
    int number = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        knob(&table, view, row, ++number);
        gp_table_row(&table);
        gp_style_start(gp_table_cell(&table, 1), view, GP_DIM);
        settings(gp_table_cell(&table, 1), gp_json_at(row, "set"));
        gp_style_end(gp_table_cell(&table, 1), view, GP_DIM);
    }
    gp_table_print(&table, buffer, view, true);
}

void gp_advice_view(gp_buffer *buffer, const gp_view *view, const cJSON *report) {
    steps(buffer, view, gp_json_at(report, "steps"));
    knobs(buffer, view, gp_json_at(report, "advice"));
}
