#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "commands.h"
#include "faults.h"
#include "json.h"
#include "output.h"
#include "table.h"
#include "base/text.h"

/* A column: heading key `cli.column.<name>`, the member shown, how it is printed. */
typedef enum { SHOW_TEXT, SHOW_NUMBER, SHOW_COUNT, SHOW_BYTES, SHOW_BANDWIDTH, SHOW_FORMATS, SHOW_SOLVE,
               SHOW_CHOICES } show;
typedef struct {
    const char *name;
    char alignment;
    show show;
    bool wide; /* only with --verbose or on a wide terminal */
} catalog_column;
#define WIDE_COLUMNS 118

typedef struct {
    const char *kind; /* as the core names it */
    catalog_column columns[GP_TABLE_COLUMNS_MAX + 1]; /* ended by a name of NULL */
} catalog_listing;

static const catalog_listing listings[] = {
    {"models",
     {{"id", 'l', SHOW_TEXT, false}, {"params", 'r', SHOW_COUNT, false}, {"layers", 'r', SHOW_NUMBER, false},
      {"hidden", 'r', SHOW_NUMBER, true}, {"heads", 'r', SHOW_NUMBER, true}, {"kv_heads", 'r', SHOW_NUMBER, true},
      {"ffn", 'r', SHOW_NUMBER, true}, {"vocab", 'r', SHOW_NUMBER, true}, {"max_context", 'r', SHOW_NUMBER, false},
      {"year", 'r', SHOW_TEXT, true}}},
    {"gpus",
     {{"name", 'l', SHOW_TEXT, false}, {"vendor", 'l', SHOW_TEXT, true}, {"architecture", 'l', SHOW_TEXT, true},
      {"memory_bytes", 'r', SHOW_BYTES, false}, {"bandwidth_bytes_per_s", 'r', SHOW_BANDWIDTH, false},
      {"formats", 'l', SHOW_FORMATS, false}, {"year", 'r', SHOW_TEXT, true}}},
    {"instances",
     {{"type", 'l', SHOW_TEXT, false}, {"provider", 'l', SHOW_TEXT, false}, {"gpu", 'l', SHOW_TEXT, false},
      {"gpus", 'r', SHOW_NUMBER, false}, {"vcpus", 'r', SHOW_NUMBER, true}, {"ram_gib", 'r', SHOW_NUMBER, true},
      {"usd_per_hour", 'r', SHOW_TEXT, false}, {"date", 'l', SHOW_TEXT, false}, {"region", 'l', SHOW_TEXT, true}}},
    {"links",
     {{"name", 'l', SHOW_TEXT, false}, {"kind", 'l', SHOW_TEXT, false}, {"bytes_per_s", 'r', SHOW_BANDWIDTH, false},
      {"note", 'l', SHOW_TEXT, true}}},
    {"fields",
     {{"path", 'l', SHOW_TEXT, false}, {"default", 'l', SHOW_TEXT, false}, {"solve", 'l', SHOW_SOLVE, false},
      {"unit", 'l', SHOW_TEXT, true}, {"choices", 'l', SHOW_CHOICES, false}}},
    {"formulas",
     {{"id", 'l', SHOW_TEXT, false}, {"expression", 'l', SHOW_TEXT, false}, {"source", 'l', SHOW_TEXT, true}}},
};
#define LISTING_COUNT ((int)(sizeof listings / sizeof *listings))

static void show_formats(gp_buffer *cell, const cJSON *row) {
    static const char *const names[][2] = {{"bf16", "bf16"}, {"fp8", "fp8"}, {"flash_attention_2", "FA2"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!cJSON_IsTrue(gp_json_at(row, names[i][0]))) continue;
        if (cell->length > 0) gp_buffer_text(cell, " ");
        gp_buffer_text(cell, names[i][1]);
    }
}

static void show_solve(gp_buffer *cell, const cJSON *row) {
    if (cJSON_IsTrue(gp_json_at(row, "auto"))) gp_buffer_text(cell, "auto ");
    if (cJSON_IsTrue(gp_json_at(row, "max_allowed"))) gp_buffer_text(cell, "max");
}

/* The range of a number, the list of a choice; what any other field holds is told by its label. */
static void show_choices(gp_buffer *cell, const gp_view *view, const cJSON *row) {
    const cJSON *choices = gp_json_at(row, "choices");
    if (choices && choices->child) {
        gp_view_argument(cell, view, choices);
    } else if (gp_json_has(row, "max") && strcmp(gp_json_text(row, "kind"), "switch") != 0) {
        gp_view_number(cell, gp_json_number(row, "min"));
        gp_buffer_text(cell, "–");
        gp_view_number(cell, gp_json_number(row, "max"));
    } else {
        gp_buffer_text(cell, gp_message_of(view->language, "field", gp_json_text(row, "path")));
    }
}

static void show_member(gp_buffer *cell, const gp_view *view, const cJSON *value, show how) {
    if (cJSON_IsNumber(value) && how == SHOW_COUNT) gp_view_count(cell, value->valuedouble);
    else if (cJSON_IsNumber(value) && how == SHOW_BYTES) gp_view_size(cell, view, value->valuedouble);
    else if (cJSON_IsString(value)) gp_buffer_foreign(cell, value->valuestring);
    else if (cJSON_IsNumber(value) && how == SHOW_TEXT) gp_buffer_printf(cell, "%.15g", value->valuedouble);
    else gp_view_argument(cell, view, value);
}

static void show_bandwidth(gp_buffer *cell, const cJSON *row, const char *name) {
    if (!gp_json_has(row, name)) return;
    gp_view_number(cell, gp_json_number(row, name) / 1e9);
    gp_buffer_text(cell, " GB/s");
}

static void show_cell(gp_buffer *cell, const gp_view *view, const cJSON *row, const catalog_column *column) {
    if (column->show == SHOW_FORMATS) show_formats(cell, row);
    else if (column->show == SHOW_BANDWIDTH) show_bandwidth(cell, row, column->name);
    else if (column->show == SHOW_SOLVE) show_solve(cell, row);
    else if (column->show == SHOW_CHOICES) show_choices(cell, view, row);
    else show_member(cell, view, cJSON_GetObjectItemCaseSensitive(row, column->name), column->show);
}

static void print_listing(gp_buffer *buffer, const gp_view *view, const catalog_listing *listing, const cJSON *rows) {
    const bool is_wide = view->verbose || view->width >= WIDE_COLUMNS;
    const catalog_column *shown[GP_TABLE_COLUMNS_MAX];
    char alignment[GP_TABLE_COLUMNS_MAX + 1] = "";
    int count = 0;
    for (const catalog_column *column = listing->columns; column->name; column++) {
        if (column->wide && !is_wide) continue;
        alignment[count] = column->alignment;
        shown[count++] = column;
    }
    gp_table table;
    gp_table_start(&table, alignment);
    gp_table_row(&table);
    for (int i = 0; i < count; i++) {
        gp_buffer_text(gp_table_cell(&table, i), gp_message_of(view->language, "cli.column", shown[i]->name));
    }
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        gp_table_row(&table);
        for (int i = 0; i < count; i++) show_cell(gp_table_cell(&table, i), view, row, shown[i]);
    }
    gp_table_print(&table, buffer, view, true);
}

/* The report of a listing; words of the command line behind the kind are the filter. */
static cJSON *ask(const gp_arguments *arguments, const catalog_listing *listing, int first_word, gp_buffer *text) {
    gp_buffer filter = {0};
    for (int i = first_word; i < arguments->operand_count; i++) {
        if (i > first_word) gp_buffer_text(&filter, " ");
        gp_buffer_text(&filter, arguments->operands[i]);
    }
    cJSON *question = cJSON_CreateObject();
    cJSON_AddStringToObject(question, "op", "catalog");
    cJSON_AddStringToObject(question, "kind", listing->kind);
    if (filter.length > 0) cJSON_AddStringToObject(question, "filter", gp_buffer_string(&filter));
    gp_buffer request = {0};
    gp_json_print(&request, question, false);
    cJSON *report = gp_json_ask(&request, text);
    cJSON_Delete(question);
    gp_buffer_release(&request);
    gp_buffer_release(&filter);
    return report;
}

static int print_kinds(const gp_arguments *arguments) {
    const gp_view *view = &arguments->view;
    gp_table table;
    gp_table_start(&table, "lrl");
    for (int i = 0; i < LISTING_COUNT; i++) {
        cJSON *report = ask(arguments, &listings[i], arguments->operand_count, NULL);
        gp_table_row(&table);
        gp_buffer_text(gp_table_cell(&table, 0), listings[i].kind);
        gp_view_number(gp_table_cell(&table, 1), cJSON_GetArraySize(gp_json_at(report, listings[i].kind)));
        gp_buffer_text(gp_table_cell(&table, 2), gp_message_of(view->language, "cli.catalog", listings[i].kind));
        cJSON_Delete(report);
    }
    gp_buffer buffer = {0};
    gp_table_print(&table, &buffer, view, false);
    return gp_output_finish(&buffer, GP_EXIT_FITS);
}

static const catalog_listing *find_listing(const gp_view *view, const char *kind) {
    gp_nearest search;
    gp_nearest_start(&search, kind, strlen(kind));
    for (int i = 0; i < LISTING_COUNT; i++) {
        if (strcmp(kind, listings[i].kind) == 0) return &listings[i];
        gp_nearest_offer(&search, listings[i].kind, strlen(listings[i].kind));
    }
    gp_fault(view, "cli.fault.unknown_kind", kind, search.best ? search.best : "");
    return NULL;
}

int gp_command_catalog(const gp_arguments *arguments) {
    const gp_view *view = &arguments->view;
    if (arguments->operand_count == 0 && arguments->json) {
        gp_fault(view, "cli.fault.value_missing", "catalog --json", "models|gpus|instances|links|fields|formulas");
        return GP_EXIT_REQUEST;
    }
    if (arguments->operand_count == 0) return print_kinds(arguments);
    const catalog_listing *listing = find_listing(view, arguments->operands[0]);
    if (!listing) return GP_EXIT_REQUEST;
    gp_buffer text = {0}, shown = {0};
    cJSON *report = ask(arguments, listing, 1, &text);
    gp_faults_of_report(view, report);
    const cJSON *rows = gp_json_at(report, listing->kind);
    if (arguments->json) {
        gp_buffer_text(&shown, gp_buffer_string(&text));
        gp_buffer_text(&shown, "\n");
    } else if (rows && rows->child) {
        print_listing(&shown, view, listing, rows);
    } else if (rows) {
        gp_buffer_text(&shown, gp_message(view->language, "cli.catalog.none"));
        gp_buffer_text(&shown, "\n");
    }
    const int exit_code = gp_output_finish(&shown, gp_exit_code_of(report));
    cJSON_Delete(report);
    gp_buffer_release(&text);
    return exit_code;
}
