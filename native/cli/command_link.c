#include "cJSON.h"
#include "commands.h"
#include "faults.h"
#include "job_source.h"
#include "json.h"
#include "output.h"

/* What a link or a job becomes: the other of the two. */
int gp_command_link(const gp_arguments *arguments) {
    gp_buffer request = {0}, text = {0}, shown = {0};
    int exit_code;
    cJSON *report = NULL;
    if (gp_request_of_arguments(arguments, "link", &request, &text, NULL, &exit_code)) {
        report = gp_json_ask(&request, &text);
        gp_faults_of_report(&arguments->view, report);
        exit_code = gp_exit_code_of(report);
    }
    const cJSON *job = gp_json_at(report, "job");
    if (arguments->json) {
        gp_buffer_text(&shown, gp_buffer_string(&text));
    } else if (job) {
        gp_json_print(&shown, job, true);
    } else {
        gp_buffer_text(&shown, gp_json_text(report, "link"));
    }
    if (shown.length > 0) gp_buffer_text(&shown, "\n");
    exit_code = gp_output_finish(&shown, exit_code);
    cJSON_Delete(report);
    gp_buffer_release(&request);
    gp_buffer_release(&text);
    return exit_code;
}
