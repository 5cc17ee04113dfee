/* command_batch.c: one report a line for one request a line, for pipes of any length. Memory is bounded by the longest
 * request. Output is flushed before the program would wait for input, so a partner that sends one request and waits
 * for its report gets it, and a bulk run still writes large pieces. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bytes_source.h"
#include "cJSON.h"
#include "commands.h"
#include "faults.h"
#include "gpuplan.h"
#include "job_source.h"
#include "output.h"

#define FLUSH_BYTES (64u << 10)

/* What stands for a report when there was no memory to compose one. */
static const char out_of_memory[] = "{\"gpuplan\":1,\"errors\":[{\"code\":\"out_of_memory\",\"path\":\"\",\"args\":{}}]}\n";

typedef struct {
    const gp_arguments *arguments;
    gp_buffer request, output;
    double lines, faulty;
    bool shows_progress, internal_fault;
    double started_s, shown_s;
} batch;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Quotes inside texts are escaped, so only the member itself is found. */
static bool has_errors(const char *report) {
    return strstr(report, "\"errors\":[") != NULL;
}

static bool is_blank(const char *line, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') return false;
    }
    return true;
}

static void answer(batch *run, const char *line, size_t length) {
    gp_buffer_clear(&run->request);
    gp_request_of_text(line, length, "plan", run->arguments->brief, &run->request);
    char *report = run->request.failed ? NULL : gp_answer_bytes(gp_buffer_string(&run->request), run->request.length);
    run->lines++;
    if (!report) {
        run->internal_fault = true;
        gp_buffer_text(&run->output, out_of_memory);
        gp_buffer_release(&run->request);
        return;
    }
    if (has_errors(report)) run->faulty++;
    gp_buffer_text(&run->output, report);
    gp_buffer_text(&run->output, "\n");
    gp_free(report);
}

static void show_progress(batch *run, bool last) {
    const double now = now_s();
    if (!run->shows_progress || (!last && now - run->shown_s < 0.2)) return;
    run->shown_s = now;
    cJSON *numbers = cJSON_CreateObject();
    cJSON_AddNumberToObject(numbers, "lines", run->lines);
    cJSON_AddNumberToObject(numbers, "faulty", run->faulty);
    const double elapsed_s = now - run->started_s;
    cJSON_AddNumberToObject(numbers, "rate", elapsed_s > 0 ? (double)(int64_t)(run->lines / elapsed_s) : 0);
    gp_buffer line = {0};
    gp_buffer_text(&line, "\r\033[K");
    gp_view_message(&line, &run->arguments->view, "cli.batch.progress", "", numbers);
    if (last) gp_buffer_text(&line, "\n");
    fputs(gp_buffer_string(&line), stderr);
    gp_buffer_release(&line);
    cJSON_Delete(numbers);
}

static gp_output_state answer_all(batch *run, gp_lines *lines) {
    for (;;) {
        const char *line;
        size_t length;
        const gp_line_state state = gp_lines_next(lines, &line, &length);
        if (state == GP_LINE) {
            /* Of a line that was cut the rest is not known. */
            if (length > GP_REQUEST_BYTES_MAX || !is_blank(line, length)) answer(run, line, length);
            show_progress(run, false);
            if (run->output.length < FLUSH_BYTES) continue;
        }
        const gp_output_state written = gp_output_write(&run->output);
        if (written != GP_OUTPUT_DONE || state == GP_LINE_END) return written;
        if (state == GP_LINE_WOULD_WAIT) gp_lines_fill(lines);
    }
}

/* The files of the command line one after the other, standard input when there are none. */
static gp_output_state answer_files(batch *run, int *exit_code) {
    static const char *const standard_input[] = {"-"};
    const int count = run->arguments->operand_count;
    const char *const *names = count > 0 ? run->arguments->operands : standard_input;
    gp_output_state state = GP_OUTPUT_DONE;
    for (int i = 0; i < (count > 0 ? count : 1) && state == GP_OUTPUT_DONE; i++) {
        gp_lines lines;
        const int error = gp_lines_open(&lines, names[i]);
        if (!error) state = answer_all(run, &lines);
        if (error || lines.error) {
            gp_fault(&run->arguments->view, "cli.fault.file", names[i], strerror(error ? error : lines.error));
            *exit_code = GP_EXIT_REQUEST;
        }
        gp_lines_release(&lines);
    }
    return state;
}

int gp_command_batch(const gp_arguments *arguments) {
    batch run = {.arguments = arguments, .started_s = now_s()};
    /* On one terminal the line would run into the reports. */
    run.shows_progress = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
    int exit_code = GP_EXIT_FITS;
    const gp_output_state state = answer_files(&run, &exit_code);
    show_progress(&run, true);
    gp_buffer_release(&run.request);
    gp_buffer_release(&run.output);
    if (state == GP_OUTPUT_FAILED || run.internal_fault) return GP_EXIT_INTERNAL;
    return run.faulty > 0 ? GP_EXIT_REQUEST : exit_code;
}
