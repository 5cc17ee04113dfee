#include "cJSON.h"
#include "columns.h"
#include "commands.h"
#include "faults.h"
#include "json.h"
#include "model_source.h"
#include "output.h"

static void line(gp_buffer *shown, const gp_view *view, const char *key, const cJSON *arguments) {
    gp_view_message(shown, view, key, "", arguments);
    gp_buffer_text(shown, "\n");
}

/* One row for each type or group: name, tensors, parameters, bytes. */
static void sums(gp_buffer *shown, const gp_view *view, const cJSON *import, const char *list, const char *key) {
    const cJSON *row;
    cJSON_ArrayForEach(row, gp_json_at(import, list)) {
        gp_buffer name = {0}, count = {0}, bytes = {0};
        gp_view_argument(&name, view, cJSON_GetObjectItemCaseSensitive(row, key));
        gp_view_count(&count, gp_json_number(row, "params"));
        gp_view_size(&bytes, view, gp_json_number(row, "bytes"));
        gp_buffer_text(shown, "  ");
        gp_pad_right(shown, gp_buffer_string(&name), 20);
        gp_pad_left(shown, gp_buffer_string(&count), 10);
        gp_pad_left(shown, gp_buffer_string(&bytes), 12);
        gp_buffer_text(shown, "\n");
        gp_buffer_release(&name);
        gp_buffer_release(&count);
        gp_buffer_release(&bytes);
    }
}

static void show(gp_buffer *shown, const gp_view *view, const cJSON *report) {
    const cJSON *import = gp_json_at(report, "import");
    if (gp_json_has(report, "job.model.name")) {
        gp_buffer_foreign(shown, gp_json_text(report, "job.model.name"));
        gp_buffer_text(shown, "\n");
    }
    line(shown, view, gp_json_has(import, "architecture") ? "cli.import.model" : "cli.import.weights", import);
    if (gp_json_has(import, "params")) line(shown, view, "cli.import.params", import);
    else if (gp_json_has(import, "computed_params")) line(shown, view, "cli.import.computed", import);
    if (gp_json_has(import, "prediction_params")) line(shown, view, "cli.import.prediction", import);
    if (gp_json_has(import, "bytes")) line(shown, view, "cli.import.bytes", import);
    sums(shown, view, import, "types", "type");
    if (view->verbose) sums(shown, view, import, "groups", "group");
    const cJSON *warning;
    cJSON_ArrayForEach(warning, gp_json_at(report, "warnings")) {
        gp_buffer key = {0};
        gp_buffer_text(&key, "warning.");
        gp_buffer_text(&key, gp_json_text(warning, "code"));
        line(shown, view, gp_buffer_string(&key), gp_json_at(warning, "args"));
        gp_buffer_release(&key);
    }
}

/* What files say about a model. */
int gp_command_import(const gp_arguments *arguments) {
    gp_buffer text = {0}, shown = {0};
    int exit_code = GP_EXIT_REQUEST;
    if (arguments->operand_count == 0) {
        gp_fault(&arguments->view, "cli.fault.no_file", "", "");
        return exit_code;
    }
    cJSON *report = gp_model_report(&arguments->view, arguments->operands, arguments->operand_count, &text, &exit_code);
    if (arguments->json && text.length > 0) {
        gp_buffer_text(&shown, gp_buffer_string(&text));
        gp_buffer_text(&shown, "\n");
    } else if (gp_json_has(report, "import")) {
        show(&shown, &arguments->view, report);
    }
    exit_code = gp_output_finish(&shown, exit_code);
    cJSON_Delete(report);
    gp_buffer_release(&text);
    return exit_code;
}
