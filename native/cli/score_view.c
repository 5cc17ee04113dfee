#include "score_view.h"

#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "json.h"
#include "table.h"

static const char *const verdict_names[GP_VERDICT_COUNT] = {"fits", "tight", "no", "none"};
static const char *const task_names[2] = {"training", "serving"}, *const outcome_names[2] = {"ran", "oom"};

static void share(gp_buffer *cell, double value, bool with_sign) {
    gp_buffer_printf(cell, with_sign ? "%+.1f %%" : "%.1f %%", 100 * value);
}

static void headings(gp_table *table, const gp_view *view, const char *const *names, int count) {
    gp_table_row(table);
    for (int i = 0; i < count; i++)
        gp_buffer_text(gp_table_cell(table, i), gp_message_of(view->language, "cli.score", names[i]));
}

static void figures_row(gp_table *table, const gp_score *score, const gp_score_choice *choice, const char *label) {
    gp_score_figures figures = gp_score_summary(score, choice);
    gp_table_row(table);
    gp_buffer_foreign(gp_table_cell(table, 0), label);
    gp_buffer_printf(gp_table_cell(table, 1), "%d", figures.rows);
    if (figures.rows > figures.answered) gp_buffer_printf(gp_table_cell(table, 6), "%d", figures.rows - figures.answered);
    if (figures.answered == 0) return;
    share(gp_table_cell(table, 2), figures.median, false);
    share(gp_table_cell(table, 3), figures.p90, false);
    share(gp_table_cell(table, 4), figures.bias, true);
    if (figures.ranged > 0) share(gp_table_cell(table, 5), figures.coverage, false);
}

static void part_rows(gp_table *table, const gp_score *score, int quantity, gp_score_by by) {
    const char **names = gp_score_names(score, quantity, by);
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        gp_buffer label = {0};
        gp_buffer_text(&label, "  ");
        gp_buffer_text(&label, names[i]);
        gp_score_choice choice = {quantity, by, names[i]};
        figures_row(table, score, &choice, gp_buffer_string(&label));
        gp_buffer_release(&label);
    }
    free(names);
}

static bool has_samples(const gp_score *score, int quantity) {
    gp_score_choice all = {quantity, GP_BY_NOTHING, NULL};
    for (int i = 0; i < score->count; i++)
        if (gp_is_chosen(&score->samples[i], &all)) return true;
    return false;
}

static void print_quantities(gp_buffer *buffer, const gp_arguments *arguments, const gp_score *score) {
    static const char *const names[] = {"quantity", "rows", "median", "p90", "bias", "coverage", "unanswered"};
    const gp_view *view = &arguments->view;
    gp_table table;
    gp_table_start(&table, "lrrrrrr");
    headings(&table, view, names, 7);
    for (int quantity = 0; gp_quantity_id(quantity) != NULL; quantity++) {
        if (!has_samples(score, quantity)) continue;
        gp_score_choice all = {quantity, GP_BY_NOTHING, NULL};
        figures_row(&table, score, &all, gp_message_of(view->language, "cli.quantity", gp_quantity_id(quantity)));
        if (arguments->by != GP_BY_METHOD) part_rows(&table, score, quantity, GP_BY_GROUP);
        if (arguments->by != GP_BY_GROUP) part_rows(&table, score, quantity, GP_BY_METHOD);
    }
    gp_table_print(&table, buffer, view, true);
}

static void print_worst(gp_buffer *buffer, const gp_arguments *arguments, const gp_score *score) {
    static const char *const names[] = {"row", "error", "predicted", "measured"};
    const gp_view *view = &arguments->view;
    for (int quantity = 0; arguments->worst > 0 && gp_quantity_id(quantity) != NULL; quantity++) {
        int *worst = has_samples(score, quantity) ? gp_score_worst(score, quantity, arguments->worst) : NULL;
        if (worst != NULL && worst[0] >= 0) {
            gp_table table;
            gp_table_start(&table, "lrrr");
            gp_buffer_text(buffer, "\n");
            const char *unit_name;
            const double unit = gp_quantity_unit(quantity, &unit_name);
            gp_styled(buffer, view, GP_STRONG, gp_message_of(view->language, "cli.quantity", gp_quantity_id(quantity)));
            if (*unit_name) gp_buffer_printf(buffer, " (%s)", unit_name);
            gp_buffer_text(buffer, "\n");
            headings(&table, view, names, 4);
            for (int i = 0; worst[i] >= 0; i++) {
                const gp_sample *sample = &score->samples[worst[i]];
                gp_table_row(&table);
                gp_buffer_foreign(gp_table_cell(&table, 0), sample->row);
                share(gp_table_cell(&table, 1), sample->error, true);
                gp_buffer_printf(gp_table_cell(&table, 2), "%.4g", sample->predicted / unit);
                gp_buffer_printf(gp_table_cell(&table, 3), "%.4g", sample->measured / unit);
            }
            gp_table_print(&table, buffer, view, true);
        }
        free(worst);
    }
}

static void print_verdicts(gp_buffer *buffer, const gp_view *view, const gp_score *score) {
    static const char *const names[] = {"outcome", "fits", "tight", "no", "none"};
    gp_table table;
    gp_table_start(&table, "lrrrr");
    headings(&table, view, names, 5);
    for (int serving = 0; serving < 2; serving++) {
        for (int failed = 0; failed < 2; failed++) {
            const int *said = score->verdicts[serving][failed];
            if (said[0] + said[1] + said[2] + said[3] == 0) continue;
            gp_table_row(&table);
            gp_buffer *label = gp_table_cell(&table, 0);
            gp_buffer_text(label, gp_message_of(view->language, "cli.score", task_names[serving]));
            gp_buffer_text(label, gp_message(view->language, "cli.colon"));
            gp_buffer_text(label, gp_message_of(view->language, "cli.score", outcome_names[failed]));
            for (int i = 0; i < GP_VERDICT_COUNT; i++) gp_buffer_printf(gp_table_cell(&table, i + 1), "%d", said[i]);
        }
    }
    gp_buffer_text(buffer, "\n");
    gp_table_print(&table, buffer, view, true);
}

void gp_score_print(gp_buffer *buffer, const gp_arguments *arguments, const gp_score *score) {
    const gp_view *view = &arguments->view;
    print_quantities(buffer, arguments, score);
    print_worst(buffer, arguments, score);
    print_verdicts(buffer, view, score);
    cJSON *numbers = cJSON_CreateObject();
    cJSON_AddNumberToObject(numbers, "rows", score->rows);
    cJSON_AddNumberToObject(numbers, "faulty", score->faulty);
    gp_buffer_text(buffer, "\n");
    gp_view_message(buffer, view, "cli.score.read", "", numbers);
    gp_buffer_text(buffer, "\n");
    cJSON_Delete(numbers);
}

/* A share to five places: more would say nothing. */
static void add_share(cJSON *object, const char *name, double value) {
    gp_buffer text = {0};
    gp_buffer_printf(&text, "%.5f", value);
    cJSON_AddNumberToObject(object, name, strtod(gp_buffer_string(&text), NULL));
    gp_buffer_release(&text);
}

static void add_figures(cJSON *object, const gp_score *score, const gp_score_choice *choice) {
    gp_score_figures figures = gp_score_summary(score, choice);
    cJSON_AddNumberToObject(object, "rows", figures.rows);
    cJSON_AddNumberToObject(object, "unanswered", figures.rows - figures.answered);
    if (figures.answered > 0) {
        add_share(object, "median", figures.median);
        add_share(object, "p90", figures.p90);
        add_share(object, "bias", figures.bias);
    }
    if (figures.ranged > 0) add_share(object, "coverage", figures.coverage);
}

static void add_parts(cJSON *object, const char *name, const gp_score *score, int quantity, gp_score_by by) {
    const char **names = gp_score_names(score, quantity, by);
    cJSON *list = cJSON_AddArrayToObject(object, name);
    for (int i = 0; names != NULL && names[i] != NULL; i++) {
        gp_score_choice choice = {quantity, by, names[i]};
        cJSON *part = cJSON_CreateObject();
        cJSON_AddStringToObject(part, "name", names[i]);
        add_figures(part, score, &choice);
        cJSON_AddItemToArray(list, part);
    }
    free(names);
}

static void add_worst(cJSON *object, const gp_score *score, int quantity, int most) {
    int *worst = gp_score_worst(score, quantity, most);
    cJSON *list = cJSON_AddArrayToObject(object, "worst");
    for (int i = 0; worst != NULL && worst[i] >= 0; i++) {
        const gp_sample *sample = &score->samples[worst[i]];
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "id", sample->row);
        add_share(row, "error", sample->error);
        cJSON_AddNumberToObject(row, "predicted", sample->predicted);
        cJSON_AddNumberToObject(row, "measured", sample->measured);
        cJSON_AddItemToArray(list, row);
    }
    free(worst);
}

static void add_verdicts(cJSON *object, const gp_score *score) {
    cJSON *verdicts = cJSON_AddObjectToObject(object, "verdicts");
    for (int serving = 0; serving < 2; serving++) {
        cJSON *task = cJSON_AddObjectToObject(verdicts, task_names[serving]);
        for (int failed = 0; failed < 2; failed++) {
            cJSON *outcome = cJSON_AddObjectToObject(task, outcome_names[failed]);
            for (int i = 0; i < GP_VERDICT_COUNT; i++)
                cJSON_AddNumberToObject(outcome, verdict_names[i], score->verdicts[serving][failed][i]);
        }
    }
}

void gp_score_json(gp_buffer *buffer, const gp_arguments *arguments, const gp_score *score) {
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddNumberToObject(tree, "rows", score->rows);
    cJSON_AddNumberToObject(tree, "faulty", score->faulty);
    cJSON *list = cJSON_AddArrayToObject(tree, "quantities");
    for (int quantity = 0; gp_quantity_id(quantity) != NULL; quantity++) {
        if (!has_samples(score, quantity)) continue;
        gp_score_choice all = {quantity, GP_BY_NOTHING, NULL};
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "id", gp_quantity_id(quantity));
        add_figures(object, score, &all);
        if (arguments->by != GP_BY_METHOD) add_parts(object, "groups", score, quantity, GP_BY_GROUP);
        if (arguments->by != GP_BY_GROUP) add_parts(object, "methods", score, quantity, GP_BY_METHOD);
        add_worst(object, score, quantity, arguments->worst);
        cJSON_AddItemToArray(list, object);
    }
    add_verdicts(tree, score);
    gp_json_print(buffer, tree, false);
    gp_buffer_text(buffer, "\n");
    cJSON_Delete(tree);
}
