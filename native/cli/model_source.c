#include "model_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cJSON.h"
#include "faults.h"
#include "gpuplan.h"
#include "json.h"
#include "output.h"
#include "base/text.h"

/* Enough for the header of most files without a tokenizer. */
enum { FIRST_BYTES = 65536, NAME_BYTES = 256 };

typedef struct {
    const char *path;
    int descriptor; /* -1 when it could not be opened */
    bool size_known;
    uint64_t size;
    gp_buffer bytes; /* the first of the file */
} model_file;

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Reads on until `wanted` bytes are at hand or the file ends; returns 0 or an errno. */
static int read_up_to(model_file *file, uint64_t wanted) {
    char part[65536];
    while (file->bytes.length < wanted) {
        const uint64_t room = wanted - file->bytes.length;
        const ssize_t count = read(file->descriptor, part, room < sizeof part ? (size_t)room : sizeof part);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        if (count == 0) {
            file->size_known = true;
            file->size = file->bytes.length;
            return 0;
        }
        gp_buffer_bytes(&file->bytes, part, (size_t)count);
        if (file->bytes.failed) return ENOMEM;
    }
    return 0;
}

static int open_file(model_file *file) {
    const bool is_input = strcmp(file->path, "-") == 0;
    struct stat status;
    file->descriptor = is_input ? STDIN_FILENO : open(file->path, O_RDONLY | O_CLOEXEC);
    if (file->descriptor < 0 || fstat(file->descriptor, &status) != 0) return errno;
    if (S_ISDIR(status.st_mode)) return EISDIR;
    file->size_known = S_ISREG(status.st_mode) && !is_input;
    file->size = file->size_known ? (uint64_t)status.st_size : 0;
    return read_up_to(file, FIRST_BYTES);
}

static void release(model_file *files, int count) {
    for (int i = 0; i < count; i++) {
        if (files[i].descriptor > STDIN_FILENO) close(files[i].descriptor);
        gp_buffer_release(&files[i].bytes);
    }
    free(files);
}

/* The request and, unless `bytes` is NULL, the bytes at hand one after the other. */
static cJSON *compose(const model_file *files, int count, gp_buffer *bytes) {
    cJSON *request = cJSON_CreateObject();
    cJSON_AddNumberToObject(request, "gpuplan", GP_GRAMMAR_VERSION);
    cJSON_AddStringToObject(request, "op", "import");
    cJSON *parts = cJSON_AddArrayToObject(request, "parts");
    for (int i = 0; i < count; i++) {
        char name[NAME_BYTES];
        const char *own = base_name(files[i].path);
        gp_text_copy(name, sizeof name, own, strlen(own));
        cJSON *part = cJSON_CreateObject();
        cJSON_AddStringToObject(part, "name", name);
        cJSON_AddNumberToObject(part, "bytes", (double)files[i].bytes.length);
        if (files[i].size_known) cJSON_AddNumberToObject(part, "size", (double)files[i].size);
        else cJSON_AddNullToObject(part, "size");
        cJSON_AddItemToArray(parts, part);
        if (bytes && files[i].bytes.length > 0) gp_buffer_bytes(bytes, files[i].bytes.text, files[i].bytes.length);
    }
    return request;
}

static cJSON *ask(const model_file *files, int count, gp_buffer *text) {
    gp_buffer gathered = {0}, request = {0};
    const gp_buffer *bytes = count == 1 ? &files[0].bytes : &gathered;
    cJSON *question = compose(files, count, count == 1 ? NULL : &gathered);
    gp_json_print(&request, question, false);
    cJSON_Delete(question);
    char *report = request.failed || bytes->failed ? NULL
                                                  : gp_answer_with(gp_buffer_string(&request), request.length,
                                                                   gp_buffer_string(bytes), bytes->length);
    cJSON *tree = report ? cJSON_Parse(report) : NULL;
    gp_buffer_clear(text);
    if (report) gp_buffer_text(text, report);
    gp_free(report);
    gp_buffer_release(&gathered);
    gp_buffer_release(&request);
    return tree;
}

/* Reads what the report asks for; returns the file whose reading failed, NULL when all went well. */
static const model_file *read_needs(model_file *files, const cJSON *needs, int *error) {
    const cJSON *need;
    cJSON_ArrayForEach(need, needs) {
        model_file *file = &files[(int)gp_json_number(need, "part")];
        *error = read_up_to(file, (uint64_t)gp_json_number(need, "bytes"));
        if (*error) return file;
    }
    return NULL;
}

static const model_file *open_all(model_file *files, const char *const *paths, int count, int *error) {
    for (int i = 0; i < count; i++) files[i] = (model_file){.path = paths[i], .descriptor = -1};
    for (int i = 0; i < count; i++) {
        *error = open_file(&files[i]);
        if (*error) return &files[i];
    }
    return NULL;
}

cJSON *gp_model_report(const gp_view *view, const char *const *paths, int count, gp_buffer *text, int *exit_code) {
    gp_buffer own = {0};
    gp_buffer *kept = text ? text : &own;
    int error = 0;
    cJSON *report = NULL;
    model_file *files = calloc((size_t)count, sizeof *files);
    *exit_code = files ? GP_EXIT_REQUEST : GP_EXIT_INTERNAL;
    if (!files) return NULL;
    const model_file *failed = open_all(files, paths, count, &error);
    while (!failed) {
        cJSON_Delete(report);
        report = ask(files, count, kept);
        const cJSON *needs = gp_json_at(report, "need");
        if (!needs) break;
        failed = read_needs(files, needs, &error);
    }
    if (failed) {
        gp_fault(view, "cli.fault.file", failed->path, strerror(error));
        cJSON_Delete(report);
        report = NULL;
        gp_buffer_clear(kept);
    } else {
        gp_faults_of_report(view, report);
        *exit_code = gp_json_has(report, "import") ? GP_EXIT_FITS : gp_exit_code_of(report);
    }
    release(files, count);
    gp_buffer_release(&own);
    return report;
}

void gp_model_put(cJSON *job, const cJSON *report) {
    cJSON_DeleteItemFromObjectCaseSensitive(job, "model");
    cJSON_AddItemToObject(job, "model", cJSON_Duplicate(gp_json_at(report, "job.model"), 1));
}

void gp_model_put_weights(cJSON *job, const cJSON *report) {
    cJSON *infer = cJSON_GetObjectItemCaseSensitive(job, "infer");
    if (strcmp(gp_json_text(job, "task"), "infer") != 0 || (infer && !cJSON_IsObject(infer))) return;
    if (!infer) infer = cJSON_AddObjectToObject(job, "infer");
    const cJSON *setting;
    cJSON_ArrayForEach(setting, gp_json_at(report, "job.infer")) {
        if (!cJSON_GetObjectItemCaseSensitive(infer, setting->string))
            cJSON_AddItemToObject(infer, setting->string, cJSON_Duplicate(setting, 1));
    }
}

static bool says(const cJSON *warnings, const cJSON *row) {
    const cJSON *own;
    cJSON_ArrayForEach(own, warnings) {
        bool same = strcmp(gp_json_text(own, "code"), gp_json_text(row, "code")) == 0;
        if (same && strcmp(gp_json_text(own, "path"), gp_json_text(row, "path")) == 0) return true;
    }
    return false;
}

void gp_model_add_warnings(cJSON *plan, gp_buffer *text, const cJSON *rows) {
    static const char start[] = "\"warnings\":[";
    cJSON *warnings = cJSON_GetObjectItemCaseSensitive(plan, "warnings");
    const char *list = strstr(gp_buffer_string(text), start);
    if (!warnings || !list) return;
    const size_t before = (size_t)(list - text->text) + sizeof start - 1;
    gp_buffer whole = {0};
    gp_buffer_bytes(&whole, text->text, before);
    const cJSON *row;
    int place = 0;
    cJSON_ArrayForEach(row, rows) {
        if (says(warnings, row)) continue;
        if (place > 0) gp_buffer_text(&whole, ",");
        gp_json_print(&whole, row, false);
        cJSON_InsertItemInArray(warnings, place++, cJSON_Duplicate(row, 1));
    }
    if (place > 0 && text->text[before] != ']') gp_buffer_text(&whole, ",");
    gp_buffer_bytes(&whole, text->text + before, text->length - before);
    gp_buffer_release(text);
    *text = whole;
}
