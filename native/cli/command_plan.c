#include <stdlib.h>

#include "cJSON.h"
#include "commands.h"
#include "faults.h"
#include "job_source.h"
#include "json.h"
#include "model_source.h"
#include "output.h"
#include "plan_view.h"

int gp_command_plan(const gp_arguments *arguments) {
    gp_buffer request = {0}, text = {0}, shown = {0};
    int exit_code;
    cJSON *report = NULL, *warnings = NULL;
    if (gp_request_of_arguments(arguments, "plan", &request, &text, &warnings, &exit_code)) {
        report = gp_json_ask(&request, &text);
        gp_model_add_warnings(report, &text, warnings);
        if (gp_json_has(report, "errors")) gp_warnings_of_files(&arguments->view, warnings);
        gp_faults_of_report(&arguments->view, report);
        exit_code = gp_exit_code_of(report);
    }
    if (arguments->json) {
        if (text.length > 0) gp_buffer_text(&text, "\n");
        exit_code = gp_output_finish(&text, exit_code);
    } else if (report && !gp_json_has(report, "errors")) {
        gp_plan_view(&shown, &arguments->view, report);
        exit_code = gp_output_finish(&shown, exit_code);
    }
    cJSON_Delete(warnings);
    cJSON_Delete(report);
    gp_buffer_release(&request);
    gp_buffer_release(&text);
    return exit_code;
}
