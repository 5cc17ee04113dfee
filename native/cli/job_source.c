#include "job_source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes_source.h"
#include "cJSON.h"
#include "faults.h"
#include "gpuplan.h"
#include "request/job.h"
#include "json.h"
#include "model_source.h"
#include "output.h"
#include "request/request.h"

bool gp_is_link(const char *word) {
    return word[0] == '#' || strncmp(word, "v=", 2) == 0 || strstr(word, "#v=") != NULL;
}

static bool is_request(const cJSON *tree) {
    return cJSON_GetObjectItemCaseSensitive(tree, "op") || cJSON_GetObjectItemCaseSensitive(tree, "gpuplan");
}

/* The tree as a request, which owns it. `forced`: a command has one operation, whatever the request says. */
static cJSON *request_of_tree(cJSON *tree, const char *op, bool forced) {
    if (!is_request(tree)) {
        cJSON *row_job = cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(tree, "job"))
                             ? cJSON_DetachItemFromObjectCaseSensitive(tree, "job") : NULL;
        cJSON *request = cJSON_CreateObject();
        cJSON_AddNumberToObject(request, "gpuplan", GP_GRAMMAR_VERSION);
        cJSON_AddStringToObject(request, "op", op);
        cJSON_AddItemToObject(request, "job", row_job ? row_job : tree);
        if (row_job) cJSON_Delete(tree);
        return request;
    }
    if (forced) {
        cJSON_DeleteItemFromObjectCaseSensitive(tree, "op");
        cJSON_AddStringToObject(tree, "op", op);
    }
    return tree;
}

static void ask_for_brief(cJSON *request) {
    cJSON_DeleteItemFromObjectCaseSensitive(request, "detail");
    cJSON_AddStringToObject(request, "detail", "brief");
}

static void print_request(gp_buffer *buffer, const cJSON *request) {
    char *text = cJSON_PrintUnformatted(request);
    if (text) gp_buffer_text(buffer, text);
    else buffer->failed = true;
    cJSON_free(text);
}

/* Numbers beyond the range of a double are printed as such again, and not as the `null` that cJSON makes of them:
 * their refusal is up to the core. */
static void keep_infinite(cJSON *value) {
    for (; value; value = value->next) {
        if (value->child) keep_infinite(value->child);
        if (!cJSON_IsNumber(value) || isfinite(value->valuedouble)) continue;
        cJSON *raw = cJSON_CreateRaw(value->valuedouble < 0 ? "-1e999" : "1e999");
        if (!raw) continue;
        value->type = raw->type;
        value->valuestring = raw->valuestring;
        raw->valuestring = NULL;
        cJSON_Delete(raw);
    }
}

/* The tree of a request text, NULL when it is no JSON object. Repeated keys stay in it, for the core to see. */
static cJSON *parse(const char *text, size_t length) {
    gp_diagnostics diagnostics;
    gp_diagnostics_clear(&diagnostics);
    cJSON *tree = gp_request_parse(text, length, &diagnostics);
    if (tree && diagnostics.count > 0) keep_infinite(tree);
    return tree;
}

/* The text of a request that does not say how much it asks for, and of a job by itself, needs to be put no other way:
 * what it lacks is written around it. */
static bool write_around(const cJSON *tree, const char *text, size_t length, const char *op, bool brief,
                         gp_buffer *request) {
    bool whole = is_request(tree);
    if (!cJSON_IsObject(tree) || (whole && cJSON_GetObjectItemCaseSensitive(tree, "detail"))) return false;
    if (!whole && cJSON_GetObjectItemCaseSensitive(tree, "job")) return false;
    if (!whole) gp_buffer_printf(request, "{\"gpuplan\":%d,\"op\":\"%s\",\"job\":", GP_GRAMMAR_VERSION, op);
    while (whole && length > 0 && text[length - 1] != '}') length--;
    gp_buffer_bytes(request, text, whole ? length - 1 : length);
    if (brief) gp_buffer_text(request, ",\"detail\":\"brief\"");
    gp_buffer_text(request, "}");
    return true;
}

void gp_request_of_text(const char *text, size_t length, const char *op, bool brief, gp_buffer *request) {
    cJSON *tree = parse(text, length);
    if (!tree || (is_request(tree) && !brief)) {
        gp_buffer_bytes(request, text, length);
    } else if (!write_around(tree, text, length, op, brief, request)) {
        tree = request_of_tree(tree, op, false);
        if (brief) ask_for_brief(tree);
        print_request(request, tree);
    }
    cJSON_Delete(tree);
}

/* ---- Command lines ------------------------------------------------------------------------------------------- */

static cJSON *diagnostics_report(const gp_diagnostics *diagnostics, const char *op) {
    cJSON *report = cJSON_CreateObject();
    cJSON_AddNumberToObject(report, "gpuplan", GP_GRAMMAR_VERSION);
    cJSON_AddStringToObject(report, "op", op);
    cJSON_AddStringToObject(report, "version", gp_version());
    cJSON *errors = cJSON_AddArrayToObject(report, "errors");
    for (int i = 0; i < diagnostics->count; i++) {
        const gp_diagnostic *row = &diagnostics->rows[i];
        cJSON *error = cJSON_CreateObject();
        cJSON_AddStringToObject(error, "code", gp_code_key(row->code));
        cJSON_AddStringToObject(error, "path", row->path);
        cJSON *arguments = cJSON_AddObjectToObject(error, "args");
        for (int k = 0; k < row->argument_count; k++) {
            const gp_argument *argument = &row->arguments[k];
            if (argument->kind == GP_ARGUMENT_TEXT) cJSON_AddStringToObject(arguments, argument->name, argument->text);
            else cJSON_AddNumberToObject(arguments, argument->name, argument->number);
        }
        cJSON_AddItemToArray(errors, error);
    }
    return report;
}

/* Prints the errors of a report, keeps it for --json and deletes it. */
static void refuse(const gp_view *view, cJSON *report, gp_buffer *kept, int *exit_code) {
    *exit_code = gp_exit_code_of(report);
    gp_faults_of_report(view, report);
    print_request(kept, report);
    cJSON_Delete(report);
}

static cJSON *new_request(const char *op, const char *key, cJSON *value) {
    cJSON *request = cJSON_CreateObject();
    cJSON_AddNumberToObject(request, "gpuplan", GP_GRAMMAR_VERSION);
    cJSON_AddStringToObject(request, "op", op);
    cJSON_AddItemToObject(request, key, value);
    return request;
}

/* What the job is faulted for besides, so that all is told at once. */
static void add_faults_of_job(cJSON *report, const cJSON *job, const char *op) {
    cJSON *question = new_request(op, "job", cJSON_Duplicate(job, true));
    gp_buffer request = {0};
    print_request(&request, question);
    cJSON_Delete(question);
    cJSON *answer = gp_json_ask(&request, NULL);
    gp_buffer_release(&request);
    cJSON *errors = cJSON_GetObjectItemCaseSensitive(answer, "errors");
    while (cJSON_GetArraySize(errors) > 0) {
        cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(report, "errors"), cJSON_DetachItemFromArray(errors, 0));
    }
    cJSON_Delete(answer);
}

static bool apply_settings(const gp_arguments *arguments, cJSON *job, const char *op, gp_buffer *report,
                           int *exit_code) {
    gp_diagnostics diagnostics;
    gp_diagnostics_clear(&diagnostics);
    for (int i = 0; i < arguments->setting_count; i++) {
        const char *setting = arguments->settings[i];
        const size_t length = strcspn(setting, "=");
        char path[GP_PATH_BYTES];
        snprintf(path, sizeof path, "%.*s", (int)(length < sizeof path ? length : sizeof path - 1), setting);
        gp_job_set(job, path, setting + length + 1, &diagnostics);
    }
    if (diagnostics.count == 0) return true;
    cJSON *faults = diagnostics_report(&diagnostics, op);
    add_faults_of_job(faults, job, op);
    refuse(&arguments->view, faults, report, exit_code);
    return false;
}

/* The job of a link, NULL after an error. */
static cJSON *job_of_link(const gp_view *view, const char *link, gp_buffer *kept, int *exit_code) {
    cJSON *question = cJSON_CreateObject();
    cJSON_AddStringToObject(question, "op", "link");
    cJSON_AddStringToObject(question, "link", link);
    gp_buffer request = {0};
    print_request(&request, question);
    cJSON_Delete(question);
    cJSON *report = gp_json_ask(&request, NULL);
    gp_buffer_release(&request);
    cJSON *job = NULL;
    if (report && !gp_json_has(report, "errors")) {
        job = cJSON_DetachItemFromObjectCaseSensitive(report, "job");
        cJSON_Delete(report);
    } else {
        refuse(view, report, kept, exit_code);
    }
    return job;
}

/* The request as a tree; for text that is no JSON object NULL, with the text in `raw`. */
static cJSON *request_of_input(const char *text, size_t length, const char *op, gp_buffer *raw) {
    cJSON *tree = parse(text, length);
    if (!tree) gp_buffer_bytes(raw, text, length);
    return tree ? request_of_tree(tree, op, true) : NULL;
}

static bool input_is_blank(const gp_buffer *input) {
    return strspn(gp_buffer_string(input), " \t\r\n") == input->length;
}

/* Reads the file or standard input. A word that is no path is rather the name of a model than a file. */
static bool read_input(const gp_arguments *arguments, const char *name, gp_buffer *input) {
    const int error = gp_read_file(name, input);
    if (error == ENOENT && *name != '-' && strstr(name, ".json") == NULL) gp_fault(&arguments->view, "cli.fault.no_such_file", name, "");
    else if (error) gp_fault(&arguments->view, "cli.fault.file", name, strerror(error));
    return error == 0;
}

/* Without an operand the job comes through a pipe or a redirection; a terminal is not waited for. */
static bool input_is_offered(void) {
    struct stat status;
    return fstat(STDIN_FILENO, &status) == 0 &&
           (S_ISFIFO(status.st_mode) || S_ISREG(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* The request before settings: a tree, or raw text that the core will refuse. NULL and no raw text after a fault. */
static cJSON *read_request(const gp_arguments *arguments, const char *op, gp_buffer *raw, gp_buffer *report,
                           int *exit_code) {
    const char *operand = arguments->operand_count > 0 ? arguments->operands[0] : NULL;
    *exit_code = GP_EXIT_REQUEST;
    if (arguments->operand_count > 1) {
        gp_fault(&arguments->view, "cli.fault.extra_operand", arguments->operands[1], "");
        return NULL;
    }
    if (operand && gp_is_link(operand)) {
        if (arguments->setting_count + arguments->model_count == 0) return new_request(op, "link", cJSON_CreateString(operand));
        cJSON *job = job_of_link(&arguments->view, operand, report, exit_code);
        return job ? new_request(op, "job", job) : NULL;
    }
    if (operand && operand[0] == '{') return request_of_input(operand, strlen(operand), op, raw);

    gp_buffer input = {0};
    cJSON *request = NULL;
    const bool offered = operand || (arguments->model_count == 0 && input_is_offered());
    const bool read = !offered || read_input(arguments, operand ? operand : "-", &input);
    if (read && (operand || !input_is_blank(&input))) {
        request = request_of_input(gp_buffer_string(&input), input.length, op, raw);
        if (!request && raw->length == 0) gp_buffer_text(raw, " ");
    } else if (read && arguments->setting_count + arguments->model_count > 0) {
        request = new_request(op, "job", cJSON_CreateObject());
    } else if (read && arguments->json) {
        request = new_request(op, "job", NULL);
    } else if (read) {
        gp_fault(&arguments->view, "cli.fault.no_job", gp_command_name(arguments->command), "");
    }
    gp_buffer_release(&input);
    return request;
}

/* The job inside a request, decoded from its link when it has one, so that settings can be applied to it. */
static cJSON *job_of_request(const gp_arguments *arguments, cJSON *request, gp_buffer *report, int *exit_code) {
    const cJSON *link = cJSON_GetObjectItemCaseSensitive(request, "link");
    /* Beside a job it is refused by the core. */
    if (cJSON_IsString(link) && !gp_json_has(request, "job")) {
        cJSON *job = job_of_link(&arguments->view, link->valuestring, report, exit_code);
        if (!job) return NULL;
        cJSON_DeleteItemFromObjectCaseSensitive(request, "link");
        cJSON_AddItemToObject(request, "job", job);
    }
    cJSON *job = cJSON_GetObjectItemCaseSensitive(request, "job");
    return job ? job : cJSON_AddObjectToObject(request, "job");
}

/* Model and settings of the command line, in this order: settings may change what the files say. */
static bool apply_arguments(const gp_arguments *arguments, cJSON *job, const char *op, gp_buffer *kept, cJSON **warnings,
                            int *exit_code) {
    cJSON *model = NULL;
    if (arguments->model_count > 0) {
        model = gp_model_report(&arguments->view, arguments->models, arguments->model_count, kept, exit_code);
        if (gp_json_has(model, "job")) gp_buffer_clear(kept);
    }
    bool good = arguments->model_count == 0 || gp_json_has(model, "job");
    if (good && model) gp_model_put(job, model);
    good = good && apply_settings(arguments, job, op, kept, exit_code);
    if (good && model) gp_model_put_weights(job, model);
    if (good && model && warnings) *warnings = cJSON_DetachItemFromObjectCaseSensitive(model, "warnings");
    cJSON_Delete(model);
    return good;
}

bool gp_request_of_arguments(const gp_arguments *arguments, const char *op, gp_buffer *request, gp_buffer *report,
                             cJSON **warnings, int *exit_code) {
    if (warnings) *warnings = NULL;
    cJSON *tree = read_request(arguments, op, request, report, exit_code);
    if (!tree) return request->length > 0;
    bool good = true;
    if (arguments->setting_count + arguments->model_count > 0) {
        cJSON *job = job_of_request(arguments, tree, report, exit_code);
        /* A job that is no object is refused by the core. */
        good = job && (!cJSON_IsObject(job) || apply_arguments(arguments, job, op, report, warnings, exit_code));
    }
    if (good && arguments->brief) ask_for_brief(tree);
    if (good) print_request(request, tree);
    cJSON_Delete(tree);
    return good;
}
