/* command_score.c: how far predictions are from measurements. */
#include <string.h>

#include "bytes_source.h"
#include "cJSON.h"
#include "commands.h"
#include "faults.h"
#include "gpuplan.h"
#include "job_source.h"
#include "json.h"
#include "output.h"
#include "score_view.h"

/* Faulty jobs whose faults are printed; of more only the number is. */
#define FAULTY_SHOWN 5

/* The faults of a row's job, under its id or else its number. */
static void say_faults(const gp_view *view, const gp_score *score, const cJSON *row, const cJSON *report) {
    if (!gp_json_has(report, "errors") || score->faulty > FAULTY_SHOWN) return;
    gp_buffer name = {0};
    const char *id = gp_json_text(row, "id");
    if (*id) gp_buffer_text(&name, id);
    else gp_buffer_printf(&name, "%d", score->rows);
    gp_fault(view, "cli.fault.faulty_row", gp_buffer_string(&name), "");
    gp_faults_of_report(view, report);
    gp_buffer_release(&name);
}

/* Of a line that is no measurement there is nothing to say. */
static bool score_line(gp_score *score, const gp_view *view, const char *line, size_t length) {
    cJSON *row = length <= GP_REQUEST_BYTES_MAX ? cJSON_ParseWithLength(line, length) : NULL;
    bool good = cJSON_IsObject(gp_json_at(row, "job")) && cJSON_IsObject(gp_json_at(row, "measured"));
    gp_buffer request = {0};
    if (good) gp_request_of_text(line, length, "plan", true, &request);
    cJSON *report = good ? gp_json_ask(&request, NULL) : NULL;
    if (good && report == NULL) score->failed = true;
    if (report != NULL) {
        gp_score_add(score, row, report);
        say_faults(view, score, row, report);
    }
    gp_buffer_release(&request);
    cJSON_Delete(report);
    cJSON_Delete(row);
    return good;
}

/* Scores the rows of one file; returns how many lines were none. */
static int score_lines(gp_score *score, const gp_view *view, gp_lines *lines) {
    int bad = 0;
    for (;;) {
        const char *line;
        size_t length;
        const gp_line_state state = gp_lines_next(lines, &line, &length);
        if (state == GP_LINE_END) return bad;
        if (state == GP_LINE_WOULD_WAIT) gp_lines_fill(lines);
        else if (length > 0 && !score_line(score, view, line, length)) bad++;
    }
}

static int score_file(gp_score *score, const gp_arguments *arguments, const char *name) {
    gp_lines lines;
    const int error = gp_lines_open(&lines, name);
    const int bad = error ? 0 : score_lines(score, &arguments->view, &lines);
    const int late = error ? error : lines.error;
    gp_lines_release(&lines);
    if (late) gp_fault(&arguments->view, "cli.fault.file", name, strerror(late));
    if (bad > 0) gp_fault(&arguments->view, "cli.fault.no_measurement", name, "");
    return late || bad > 0 ? GP_EXIT_REQUEST : GP_EXIT_FITS;
}

int gp_command_score(const gp_arguments *arguments) {
    if (arguments->operand_count == 0) {
        gp_fault(&arguments->view, "cli.fault.no_measurements", "", "");
        return GP_EXIT_REQUEST;
    }
    gp_score score = {0};
    int exit_code = GP_EXIT_FITS;
    for (int i = 0; i < arguments->operand_count; i++) {
        const int code = score_file(&score, arguments, arguments->operands[i]);
        if (code != GP_EXIT_FITS) exit_code = code;
    }
    gp_buffer shown = {.failed = score.failed};
    if (score.rows > 0 && arguments->json) gp_score_json(&shown, arguments, &score);
    else if (score.rows > 0) gp_score_print(&shown, arguments, &score);
    gp_score_release(&score);
    return gp_output_finish(&shown, exit_code);
}
