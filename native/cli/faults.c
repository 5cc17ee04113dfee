#include "faults.h"

#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "json.h"
#include "output.h"

static void write_line(gp_buffer *line) {
    gp_buffer_text(line, "\n");
    fputs(gp_buffer_string(line), stderr);
    gp_buffer_release(line);
}

void gp_fault(const gp_view *view, const char *key, const char *value, const char *nearest) {
    cJSON *arguments = cJSON_CreateObject();
    cJSON_AddStringToObject(arguments, "value", value);
    cJSON_AddStringToObject(arguments, "nearest", nearest);
    gp_buffer line = {0};
    gp_buffer_text(&line, "gpuplan: ");
    gp_view_message(&line, view, key, "", arguments);
    write_line(&line);
    cJSON_Delete(arguments);
}

/* The sentences of `family` ("error") for the rows of a list. */
static int write_rows(const gp_view *view, const char *family, const cJSON *rows) {
    int count = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        char key[96];
        snprintf(key, sizeof key, "%s.%s", family, gp_json_text(row, "code"));
        const char *path = gp_json_text(row, "path");
        gp_buffer line = {0};
        gp_buffer_text(&line, "gpuplan: ");
        gp_buffer_foreign(&line, path);
        if (*path) gp_buffer_text(&line, ": ");
        gp_view_message(&line, view, key, path, gp_json_at(row, "args"));
        write_line(&line);
        count++;
    }
    return count;
}

int gp_faults_of_report(const gp_view *view, const cJSON *report) {
    return write_rows(view, "error", gp_json_at(report, "errors"));
}

int gp_warnings_of_files(const gp_view *view, const cJSON *rows) {
    return write_rows(view, "warning", rows);
}

int gp_exit_code_of(const cJSON *report) {
    if (!report) return GP_EXIT_INTERNAL;
    const cJSON *errors = gp_json_at(report, "errors");
    const cJSON *error;
    cJSON_ArrayForEach(error, errors) {
        if (strcmp(gp_json_text(error, "code"), "out_of_memory") == 0) return GP_EXIT_INTERNAL;
    }
    if (errors) return GP_EXIT_REQUEST;
    return strcmp(gp_json_text(report, "verdict"), "no") == 0 ? GP_EXIT_NO : GP_EXIT_FITS;
}
