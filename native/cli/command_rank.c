/* command_rank.c: which hardware holds a job, GPUs of the catalogue or what providers rent, and which models a hardware. */
#include <string.h>

#include "cJSON.h"
#include "commands.h"
#include "faults.h"
#include "job_source.h"
#include "json.h"
#include "output.h"
#include "request/job.h"
#include "table.h"

#define ROWS_SHOWN 20

/* Kinds of lists that show a column on a narrow terminal; with --verbose or on a wide one all do. */
enum { GPUS = 1, INSTANCES = 2, MODELS = 4, ALL = GPUS | INSTANCES | MODELS };
typedef struct {
    const char *member;
    char alignment;
    int narrow;
} rank_column;
#define WIDE_COLUMNS 100

static const rank_column columns[] = {
    {"model", 'l', MODELS},  {"params", 'r', 0},      {"gpu", 'l', ALL},          {"type", 'l', ALL},
    {"verdict", 'l', ALL},   {"peak_bytes", 'r', GPUS | INSTANCES}, {"usable_bytes", 'r', 0}, {"max_concurrency", 'r', GPUS | INSTANCES},
    {"max_context", 'r', MODELS}, {"within_targets", 'r', 0}, {"tokens_per_s", 'r', ALL}, {"usd_per_hour", 'r', ALL},
    {"usd_per_million_tokens", 'r', ALL}, {"usd_per_user_hour", 'r', 0}, {"date", 'l', ALL},
};
#define COLUMN_COUNT ((int)(sizeof columns / sizeof *columns))

static bool is_kind(const char *word) { return strcmp(word, "gpus") == 0 || strcmp(word, "instances") == 0 || strcmp(word, "models") == 0; }

/* The request of the arguments behind the kind, with kind and filter. */
static bool make_request(const gp_arguments *arguments, gp_buffer *request, gp_buffer *text, int *exit_code) {
    gp_arguments job = *arguments;
    const bool named = arguments->operand_count > 0 && is_kind(arguments->operands[0]);
    if (named) {
        job.operands++;
        job.operand_count--;
    }
    if (!gp_request_of_arguments(&job, "rank", request, text, NULL, exit_code)) return false;
    cJSON *tree = cJSON_ParseWithLength(gp_buffer_string(request), request->length);
    if (!cJSON_IsObject(tree)) return true; /* the core says what is wrong with it */
    if (named) {
        cJSON_DeleteItemFromObjectCaseSensitive(tree, "kind");
        cJSON_AddStringToObject(tree, "kind", arguments->operands[0]);
    }
    if (arguments->filter) cJSON_AddStringToObject(tree, "filter", arguments->filter);
    gp_buffer_clear(request);
    gp_json_print(request, tree, false);
    cJSON_Delete(tree);
    return true;
}

/* A column without any value is left out, but for the verdict, of which there is always something to say. */
static bool has_values(const cJSON *rows, const char *member) {
    if (strcmp(member, "verdict") == 0) return true;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        if (gp_json_has(row, member)) return true;
    }
    return false;
}

/* "2 × H100 SXM5 80GB", "2 × p5.48xlarge". */
static void show_count(gp_buffer *cell, double count, const char *name) {
    gp_view_number(cell, count);
    gp_buffer_text(cell, " × ");
    gp_buffer_foreign(cell, name);
}

/* "AWS 2 × p5.48xlarge": names of types alone do not say who rents them out. */
static void show_instances(gp_buffer *cell, const cJSON *row) {
    gp_buffer_foreign(cell, gp_json_text(row, "provider"));
    gp_buffer_text(cell, " ");
    show_count(cell, gp_json_number(row, "instances"), gp_json_text(row, "type"));
}

static void show_verdict(gp_buffer *cell, const gp_view *view, const cJSON *row) {
    const char *verdict = gp_json_text(row, "verdict");
    if (!gp_json_has(row, "verdict")) {
        gp_styled(cell, view, GP_DIM, gp_message(view->language, "cli.rank.refused"));
        return;
    }
    const gp_style style = strcmp(verdict, "fits") == 0 ? GP_GOOD : strcmp(verdict, "tight") == 0 ? GP_CAREFUL : GP_BAD;
    gp_styled(cell, view, style, gp_message_of(view->language, "verdict", verdict));
}

static void show_cell(gp_buffer *cell, const gp_view *view, const cJSON *row, const char *member) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, member);
    if (strcmp(member, "verdict") == 0) show_verdict(cell, view, row);
    else if (strcmp(member, "gpu") == 0 && gp_json_has(row, "count"))
        show_count(cell, gp_json_number(row, "count"), gp_json_text(row, "gpu"));
    else if (strcmp(member, "type") == 0 && value) show_instances(cell, row);
    else if (strncmp(member, "usd", 3) == 0 && value) gp_buffer_printf(cell, "%.*f", value->valuedouble < 0.1 ? 4 : 2, value->valuedouble);
    else if (strcmp(member, "max_context") == 0 && value && value->valuedouble >= gp_field_info(GP_FIELD_CONTEXT)->max)
        gp_buffer_text(cell, gp_message(view->language, "cli.rank.any"));
    else if (value && cJSON_IsString(value)) gp_buffer_foreign(cell, value->valuestring);
    else gp_view_argument(cell, view, value);
}

static void print_rows(gp_buffer *buffer, const gp_view *view, const cJSON *rows) {
    const bool is_wide = view->verbose || view->width >= WIDE_COLUMNS;
    const int kind = has_values(rows, "model") ? MODELS : has_values(rows, "type") ? INSTANCES : GPUS;
    const rank_column *shown[COLUMN_COUNT];
    char alignment[COLUMN_COUNT + 1] = "";
    int count = 0;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if ((!is_wide && (columns[i].narrow & kind) == 0) || !has_values(rows, columns[i].member)) continue;
        alignment[count] = columns[i].alignment;
        shown[count++] = &columns[i];
    }
    gp_table table;
    gp_table_start(&table, alignment);
    gp_table_row(&table);
    for (int i = 0; i < count; i++)
        gp_buffer_text(gp_table_cell(&table, i), gp_message_of(view->language, "cli.rank", shown[i]->member));
    const int total = cJSON_GetArraySize(rows);
    int printed = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        if (!view->verbose && printed == ROWS_SHOWN) break;
        printed++;
        gp_table_row(&table);
        for (int i = 0; i < count; i++) show_cell(gp_table_cell(&table, i), view, row, shown[i]->member);
    }
    gp_table_print(&table, buffer, view, true);
    if (printed == total) return;
    cJSON *arguments = cJSON_CreateObject();
    cJSON_AddNumberToObject(arguments, "count", total - printed);
    gp_buffer_text(buffer, "  ");
    gp_view_message(buffer, view, "cli.rank.more", "", arguments);
    gp_buffer_text(buffer, "\n");
    cJSON_Delete(arguments);
}

/* 0 when some row holds the job. */
static int exit_code_of_rows(const cJSON *report) {
    const cJSON *row;
    if (gp_exit_code_of(report) != GP_EXIT_FITS) return gp_exit_code_of(report);
    cJSON_ArrayForEach(row, gp_json_at(report, "rank")) {
        const char *verdict = gp_json_text(row, "verdict");
        if (strcmp(verdict, "fits") == 0 || strcmp(verdict, "tight") == 0) return GP_EXIT_FITS;
    }
    return GP_EXIT_NO;
}

int gp_command_rank(const gp_arguments *arguments) {
    const gp_view *view = &arguments->view;
    gp_buffer request = {0}, text = {0}, shown = {0};
    int exit_code;
    cJSON *report = NULL;
    if (make_request(arguments, &request, &text, &exit_code)) {
        report = gp_json_ask(&request, &text);
        gp_faults_of_report(view, report);
        exit_code = exit_code_of_rows(report);
    }
    const cJSON *rows = gp_json_at(report, "rank");
    if (arguments->json) {
        gp_buffer_text(&shown, gp_buffer_string(&text));
        if (text.length > 0) gp_buffer_text(&shown, "\n");
    } else if (rows && rows->child) {
        print_rows(&shown, view, rows);
    } else if (rows) {
        gp_buffer_text(&shown, gp_message(view->language, "cli.catalog.none"));
        gp_buffer_text(&shown, "\n");
    }
    exit_code = gp_output_finish(&shown, exit_code);
    cJSON_Delete(report);
    gp_buffer_release(&request);
    gp_buffer_release(&text);
    return exit_code;
}
