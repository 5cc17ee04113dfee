/* advice_view.c: the five steps and the next knobs. */
#include <math.h>
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

/* A factor ("2", "0.5") or a share in percent, without its sign. */
static void cost_figure(cJSON *arguments, const char *name, bool is_share, double value) {
    char text[32];
    snprintf(text, sizeof text, is_share ? "%.0f" : "%.3g", fabs(is_share ? 100 * value : value));
    cJSON_AddStringToObject(arguments, name, text);
}

/* "4 to 7 % slower" and the like, worded by the kind of cost; a negative slow-down is a speed-up. */
static void cost(gp_buffer *buffer, const gp_view *view, const cJSON *knob) {
    const cJSON *figures = gp_json_at(knob, "cost");
    const char *kind = gp_json_text(figures, "kind");
    double low = gp_json_number(figures, "low"), high = gp_json_number(figures, "high");
    const bool is_time = strcmp(kind, "time") == 0, is_faster = is_time && low < 0;
    if (is_faster) {
        const double swapped = low;
        low = high;
        high = swapped;
    }
    /* Once the hardware is other hardware, not more of it. */
    const bool is_told = gp_json_has(figures, "high") && !(strcmp(kind, "hardware") == 0 && fabs(high - 1) < 1e-9);
    cJSON *arguments = cJSON_CreateObject();
    cost_figure(arguments, "low", is_time, low);
    cost_figure(arguments, "high", is_time, high);
    const bool is_range = strcmp(gp_json_text(arguments, "low"), gp_json_text(arguments, "high")) != 0;
    const char *precision = !is_told ? "" : is_range ? ".range" : ".about";
    char key[64];
    snprintf(key, sizeof key, "cost.%s%s%s", kind, is_faster ? ".faster" : "", precision);
    gp_view_message(buffer, view, key, "", arguments);
    cJSON_Delete(arguments);
}

static void setting_value(gp_buffer *buffer, const cJSON *value) {
    if (cJSON_IsString(value)) gp_buffer_foreign(buffer, value->valuestring);
    else gp_json_print(buffer, value, false);
}

/* True for a setting that stays what the solver found. */
static bool is_held(const cJSON *row, const cJSON *value) {
    return cJSON_Compare(value, cJSON_GetObjectItemCaseSensitive(gp_json_at(row, "from"), value->string), true);
}

/* "train.recompute=full", ready to be typed behind --set. */
static void settings(gp_buffer *buffer, const cJSON *row) {
    const cJSON *value;
    const char *mark = "";
    cJSON_ArrayForEach(value, gp_json_at(row, "set")) {
        if (is_held(row, value)) continue;
        gp_buffer_text(buffer, mark);
        mark = " ";
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
    gp_styled(gp_table_cell(table, 4), view, gp_verdict_style(after), gp_message_of(view->language, "cli.fits", after));
    cost(gp_table_cell(table, 5), view, row);
}

static void knobs(gp_buffer *buffer, const gp_view *view, const cJSON *rows) {
    if (!rows || !rows->child) return;
    static const char *const headings[] = {"cli.knobs.number", "cli.knobs.knob", "cli.knobs.frees", "cli.knobs.after",
                                           "cli.knobs.fits", "cli.knobs.cost"};
    gp_view_heading(buffer, view, "cli.knobs");
    gp_table table;
    gp_table_start(&table, "rlrrll");
    gp_table_row(&table);
    for (int i = 0; i < 6; i++) gp_buffer_text(gp_table_cell(&table, i), gp_message(view->language, headings[i]));
    int number = 0;
    bool holds = false;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        knob(&table, view, row, ++number);
        settings(gp_table_note(&table), row);
        const cJSON *value;
        cJSON_ArrayForEach(value, gp_json_at(row, "set")) {
            holds = holds || is_held(row, value);
        }
    }
    gp_table_print(&table, buffer, view, true);
    if (!holds) return;
    gp_buffer_text(buffer, "  ");
    gp_style_start(buffer, view, GP_DIM);
    gp_wrap(buffer, gp_message(view->language, "cli.knobs.held"), 2, 2, view->width);
    gp_style_end(buffer, view, GP_DIM);
    gp_buffer_text(buffer, "\n");
}

void gp_advice_view(gp_buffer *buffer, const gp_view *view, const cJSON *report) {
    steps(buffer, view, gp_json_at(report, "steps"));
    knobs(buffer, view, gp_json_at(report, "advice"));
}
