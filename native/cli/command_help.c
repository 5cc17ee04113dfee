#include <stdio.h>

#include "cJSON.h"
#include "columns.h"
#include "commands.h"
#include "faults.h"
#include "gpuplan.h"
#include "json.h"
#include "output.h"

int gp_command_version(const gp_arguments *arguments) {
    gp_buffer request = {0}, text = {0}, shown = {0};
    gp_buffer_text(&request, "{\"op\":\"version\"}");
    cJSON *report = gp_json_ask(&request, &text);
    const int exit_code = gp_exit_code_of(report);
    if (arguments->json) gp_buffer_text(&shown, gp_buffer_string(&text));
    else gp_view_message(&shown, &arguments->view, "cli.version", "", report);
    gp_buffer_text(&shown, "\n");
    cJSON_Delete(report);
    gp_buffer_release(&request);
    gp_buffer_release(&text);
    return gp_output_finish(&shown, exit_code);
}

static void paragraph(gp_buffer *buffer, const gp_view *view, const char *key, int indent) {
    const char *text = gp_message(view->language, key);
    gp_buffer_repeat(buffer, " ", indent);
    gp_wrap(buffer, text, indent, indent, view->width);
    gp_buffer_text(buffer, "\n");
}

static void heading(gp_buffer *buffer, const gp_view *view, const char *key) {
    gp_buffer_text(buffer, "\n");
    gp_styled(buffer, view, GP_STRONG, gp_message(view->language, key));
    gp_buffer_text(buffer, "\n");
}

static void program_help(gp_buffer *buffer, const gp_view *view) {
    paragraph(buffer, view, "cli.tagline", 0);
    gp_buffer_text(buffer, "\n");
    for (int command = 0; command < GP_COMMAND_COUNT; command++) {
        const char *name = gp_command_name((gp_command)command);
        gp_buffer_text(buffer, "  gpuplan ");
        gp_pad_right(buffer, name, 10);
        char key[64];
        snprintf(key, sizeof key, "cli.summary.%s", name);
        gp_wrap(buffer, gp_message(view->language, key), 20, 20, view->width);
        gp_buffer_text(buffer, "\n");
    }
    heading(buffer, view, "cli.help.options");
    gp_arguments_options(buffer, view, GP_COMMAND_COUNT);
    heading(buffer, view, "cli.help.exit_codes");
    for (int code = 0; code <= GP_EXIT_INTERNAL; code++) {
        char key[64];
        snprintf(key, sizeof key, "cli.exit.%d", code);
        gp_buffer_printf(buffer, "  %d  ", code);
        gp_wrap(buffer, gp_message(view->language, key), 5, 5, view->width);
        gp_buffer_text(buffer, "\n");
    }
    heading(buffer, view, "cli.help.examples");
    gp_buffer_text(buffer, "  gpuplan plan task=qlora model=llama-2-7b gpu=\"RTX 4090\" micro_batch=max\n"
                           "  gpuplan plan job.json --set seq_len=4096 --json\n"
                           "  gpuplan batch < jobs.jsonl > reports.jsonl\n");
}

static void command_help(gp_buffer *buffer, const gp_view *view, gp_command command) {
    const char *name = gp_command_name(command);
    char key[64];
    snprintf(key, sizeof key, "cli.usage.%s", name);
    gp_buffer_text(buffer, "gpuplan ");
    gp_buffer_text(buffer, gp_message(view->language, key));
    gp_buffer_text(buffer, "\n\n");
    snprintf(key, sizeof key, "cli.summary.%s", name);
    paragraph(buffer, view, key, 2);
    snprintf(key, sizeof key, "cli.detail.%s", name);
    if (gp_message_find(view->language, key)) paragraph(buffer, view, key, 2);
    heading(buffer, view, "cli.help.options");
    gp_arguments_options(buffer, view, command);
}

int gp_help_print(const gp_view *view, gp_command command) {
    gp_buffer buffer = {0};
    if (command == GP_COMMAND_COUNT) program_help(&buffer, view);
    else command_help(&buffer, view, command);
    return gp_output_finish(&buffer, GP_EXIT_FITS);
}

int gp_command_help(const gp_arguments *arguments) {
    gp_command command = GP_COMMAND_COUNT;
    if (arguments->operand_count > 0) {
        command = gp_command_of(arguments->operands[0]);
        if (command == GP_COMMAND_COUNT) {
            gp_fault(&arguments->view, "cli.fault.unknown_command", arguments->operands[0], "");
            return GP_EXIT_REQUEST;
        }
    }
    return gp_help_print(&arguments->view, command);
}
