/* memory_view.c: the ledger of the fullest GPU as a staircase of bars, then the stages when there are several. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "columns.h"
#include "json.h"
#include "plan_view.h"
#include "table.h"

typedef struct {
    int label, figure, bar; /* columns of each part of a line */
    double bytes_per_column;
} bar_frame;

static bool alive_at(const cJSON *item, const char *phase) {
    const cJSON *name;
    cJSON_ArrayForEach(name, gp_json_at(item, "phases")) {
        if (strcmp(name->valuestring, phase) == 0) return true;
    }
    return false;
}

/* A bar from byte `start` on, to an eighth of a column where the terminal can. */
static void bar(gp_buffer *buffer, const gp_view *view, const bar_frame *frame, double start_bytes, double bytes) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int start = (int)(start_bytes / frame->bytes_per_column);
    const double columns = bytes / frame->bytes_per_column;
    gp_buffer_repeat(buffer, " ", start);
    if (!view->unicode) {
        const int whole = (int)(columns + 0.5);
        gp_buffer_repeat(buffer, "#", whole > 0 ? whole : 1);
        return;
    }
    int parts = (int)(columns * 8 + 0.5);
    if (parts < 1) parts = 1;
    gp_buffer_repeat(buffer, "█", parts / 8);
    gp_buffer_text(buffer, eighths[parts % 8]);
}

static void line_start(gp_buffer *buffer, const gp_view *view, const bar_frame *frame, const char *label,
                       double bytes) {
    gp_buffer figure = {0};
    gp_view_gigabytes(&figure, view, bytes);
    gp_buffer_text(buffer, "  ");
    gp_pad_right(buffer, label, frame->label);
    gp_buffer_text(buffer, "  ");
    gp_pad_left(buffer, gp_buffer_string(&figure), frame->figure);
    gp_buffer_text(buffer, "  ");
    gp_buffer_release(&figure);
}

/* The peak against what is usable: what is free is shaded, what does not fit is marked. Without a known size there is
 * only the peak. */
static void peak_line(gp_buffer *buffer, const gp_view *view, const bar_frame *frame, double peak_bytes,
                      double usable_bytes) {
    line_start(buffer, view, frame, gp_message(view->language, "cli.memory.peak"), peak_bytes);
    const double inside_bytes = usable_bytes > 0 ? fmin(peak_bytes, usable_bytes) : peak_bytes;
    const int inside = (int)(inside_bytes / frame->bytes_per_column + 0.5);
    const int whole = (int)(fmax(peak_bytes, usable_bytes) / frame->bytes_per_column + 0.5);
    gp_buffer_repeat(buffer, view->unicode ? "█" : "#", inside);
    if (peak_bytes > inside_bytes) {
        gp_style_start(buffer, view, GP_BAD);
        gp_buffer_repeat(buffer, view->unicode ? "▒" : "!", whole > inside ? whole - inside : 1);
        gp_style_end(buffer, view, GP_BAD);
    } else {
        gp_style_start(buffer, view, GP_DIM);
        gp_buffer_repeat(buffer, view->unicode ? "░" : ".", whole - inside);
        gp_style_end(buffer, view, GP_DIM);
    }
    gp_buffer_text(buffer, "\n");
}

static void wrapped_line(gp_buffer *buffer, const gp_view *view, const char *text) {
    gp_buffer_text(buffer, "      ");
    gp_wrap(buffer, text, 6, 6, view->width);
    gp_buffer_text(buffer, "\n");
}

/* The formula of an item, its numbers and its source, for --verbose. */
static void formula_lines(gp_buffer *buffer, const gp_view *view, const cJSON *item) {
    if (!view->verbose || !gp_json_has(item, "formula")) return;
    gp_buffer numbers = {0};
    const cJSON *term;
    cJSON_ArrayForEach(term, gp_json_at(item, "terms")) {
        if (numbers.length > 0) gp_buffer_text(&numbers, ", ");
        gp_buffer_printf(&numbers, "%s = %.15g", term->string, term->valuedouble);
    }
    gp_style_start(buffer, view, GP_DIM);
    wrapped_line(buffer, view, gp_json_text(item, "formula"));
    wrapped_line(buffer, view, gp_buffer_string(&numbers));
    wrapped_line(buffer, view, gp_json_text(item, "source"));
    gp_style_end(buffer, view, GP_DIM);
    gp_buffer_release(&numbers);
}

/* Some items have several rows, which are told apart by their formulas. */
static const char *item_label(const gp_view *view, const cJSON *item) {
    char key[96];
    snprintf(key, sizeof key, "row.%s", gp_json_text(item, "formula_id"));
    const char *row = gp_message_find(view->language, key);
    return row != NULL ? row : gp_message_of(view->language, "item", gp_json_text(item, "id"));
}

static bar_frame measure(const gp_view *view, const cJSON *stage, double usable_bytes) {
    bar_frame frame = {.figure = 7};
    frame.label = gp_columns(gp_message(view->language, "cli.memory.usable"));
    const cJSON *item;
    cJSON_ArrayForEach(item, gp_json_at(stage, "items")) {
        const int columns = gp_columns(item_label(view, item));
        if (columns > frame.label) frame.label = columns;
    }
    frame.bar = view->width - frame.label - frame.figure - 6;
    if (frame.bar < 8) frame.bar = 8;
    frame.bytes_per_column = fmax(fmax(gp_json_number(stage, "peak_bytes"), usable_bytes), 1) / frame.bar;
    return frame;
}

/* Items that are gone at the peak, in one line; what is in no phase is in host memory, which a row of its own tells. */
static void absent_items(gp_buffer *buffer, const gp_view *view, const cJSON *stage) {
    gp_buffer names = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, gp_json_at(stage, "items")) {
        if (cJSON_GetArraySize(gp_json_at(item, "phases")) == 0) continue;
        if (alive_at(item, gp_json_text(stage, "peak_phase"))) continue;
        if (names.length > 0) gp_buffer_text(&names, " · ");
        gp_buffer_text(&names, item_label(view, item));
        gp_buffer_text(&names, " ");
        gp_view_size(&names, view, gp_json_number(item, "bytes"));
    }
    if (names.length > 0) {
        cJSON *arguments = cJSON_CreateObject();
        cJSON_AddStringToObject(arguments, "items", gp_buffer_string(&names));
        gp_buffer text = {0};
        gp_view_message(&text, view, "cli.memory.absent", "", arguments);
        gp_buffer_text(buffer, "  ");
        gp_style_start(buffer, view, GP_DIM);
        gp_wrap(buffer, gp_buffer_string(&text), 2, 2, view->width);
        gp_style_end(buffer, view, GP_DIM);
        gp_buffer_text(buffer, "\n");
        gp_buffer_release(&text);
        cJSON_Delete(arguments);
    }
    gp_buffer_release(&names);
}

static void stage_bars(gp_buffer *buffer, const gp_view *view, const cJSON *stage, double usable_bytes) {
    const bar_frame frame = measure(view, stage, usable_bytes);
    const double peak_bytes = gp_json_number(stage, "peak_bytes");
    double start_bytes = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, gp_json_at(stage, "items")) {
        if (!alive_at(item, gp_json_text(stage, "peak_phase"))) continue;
        const double bytes = gp_json_number(item, "bytes");
        line_start(buffer, view, &frame, item_label(view, item), bytes);
        gp_style_start(buffer, view, GP_ACCENT);
        bar(buffer, view, &frame, start_bytes, bytes);
        gp_style_end(buffer, view, GP_ACCENT);
        gp_buffer_text(buffer, "\n");
        formula_lines(buffer, view, item);
        start_bytes += bytes;
    }
    peak_line(buffer, view, &frame, peak_bytes, usable_bytes);
    if (usable_bytes > 0) {
        line_start(buffer, view, &frame, gp_message(view->language, "cli.memory.usable"), usable_bytes);
        while (buffer->length > 0 && buffer->text[buffer->length - 1] == ' ') buffer->length--;
        gp_buffer_text(buffer, "\n");
    }
    absent_items(buffer, view, stage);
}

/* The stage that holds the peak. */
static const cJSON *worst_stage(const cJSON *stages) {
    const cJSON *worst = stages ? stages->child : NULL;
    const cJSON *stage;
    cJSON_ArrayForEach(stage, stages) {
        if (gp_json_number(stage, "peak_bytes") > gp_json_number(worst, "peak_bytes")) worst = stage;
    }
    return worst;
}

static void stage_row(gp_table *table, const gp_view *view, const cJSON *stage) {
    const double first = gp_json_number(stage, "stage"), count = gp_json_number(stage, "stages");
    gp_table_row(table);
    if (count > 1) gp_buffer_printf(gp_table_cell(table, 0), "%.0f–%.0f", first, first + count - 1);
    else gp_buffer_printf(gp_table_cell(table, 0), "%.0f", first);
    gp_view_number(gp_table_cell(table, 1), gp_json_number(stage, "gpus"));
    gp_view_number(gp_table_cell(table, 2), gp_json_number(stage, "layers"));
    gp_view_gigabytes(gp_table_cell(table, 3), view, gp_json_number(stage, "peak_bytes"));
    if (gp_json_has(stage, "low_bytes")) {
        gp_view_gigabytes(gp_table_cell(table, 4), view, gp_json_number(stage, "low_bytes"));
        gp_buffer_text(gp_table_cell(table, 4), "–");
        gp_view_gigabytes(gp_table_cell(table, 4), view, gp_json_number(stage, "high_bytes"));
    }
    gp_buffer_text(gp_table_cell(table, 5), gp_message_of(view->language, "phase", gp_json_text(stage, "peak_phase")));
}

static void stage_table(gp_buffer *buffer, const gp_view *view, const cJSON *stages) {
    static const char *const headings[] = {"cli.stages.stage", "cli.stages.gpus", "cli.stages.layers", "cli.stages.peak",
                                           "cli.stages.range", "cli.stages.phase"};
    gp_view_heading(buffer, view, "cli.stages");
    gp_table table;
    gp_table_start(&table, "lrrrrl");
    gp_table_row(&table);
    for (int i = 0; i < 6; i++) gp_buffer_text(gp_table_cell(&table, i), gp_message(view->language, headings[i]));
    const cJSON *stage;
    cJSON_ArrayForEach(stage, stages) {
        stage_row(&table, view, stage);
    }
    gp_table_print(&table, buffer, view, true);
}

void gp_memory_view(gp_buffer *buffer, const gp_view *view, const cJSON *report) {
    const cJSON *stages = gp_json_at(report, "memory.stages");
    const cJSON *stage = worst_stage(stages);
    if (!stage) return;
    gp_buffer_text(buffer, "\n");
    gp_buffer heading = {0};
    cJSON *arguments = cJSON_CreateObject();
    cJSON_AddNumberToObject(arguments, "gpu", gp_json_number(stage, "first_gpu"));
    cJSON_AddStringToObject(arguments, "phase", gp_json_text(stage, "peak_phase"));
    cJSON_AddStringToObject(arguments, "unit", gp_view_unit(view));
    gp_view_message(&heading, view, "cli.memory.heading", "", arguments);
    gp_styled(buffer, view, GP_STRONG, gp_buffer_string(&heading));
    gp_buffer_text(buffer, "\n");
    gp_buffer_release(&heading);
    cJSON_Delete(arguments);

    stage_bars(buffer, view, stage, gp_json_number(report, "memory.usable_bytes"));
    if (stages->child->next) stage_table(buffer, view, stages);
}
