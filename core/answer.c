/* answer.c: one request, one report. Each operation reads its own members; whatever goes wrong is a row of `faults`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "gpuplan.h"
#include "import/import_request.h"
#include "request/link.h"
#include "advise/planner.h"
#include "model/quantize.h"
#include "report/report.h"
#include "request/request.h"
#include "base/text.h"

/* What one request needs besides its tree: too large for the stack of a WebAssembly module. One block, because an
 * allocator that returns each part to the system would spend more time on it than the plan takes. */
typedef struct {
    gp_job job;
    gp_plan plan, outlook;
    struct gp_replays replays;
    struct gp_file_made file;
} workspace;

typedef struct {
    const cJSON *tree;
    gp_diagnostics *faults; /* of the workspace's plan */
    workspace *space;
    gp_writer *writer;
    const unsigned char *files; /* beside the request */
    size_t file_bytes;
} call;

typedef struct {
    const char *op;
    const char *members; /* besides gpuplan and op, separated by spaces */
    void (*answer)(call *request);
} operation;

static void answer_plan(call *request);
static void answer_link(call *request);
static void answer_catalog(call *request);
static void answer_explain(call *request);
static void answer_version(call *request);
static void answer_import(call *request);
static void answer_rank(call *request);

static const operation operations[] = {
    {"plan", "job link detail", answer_plan},      {"link", "job link", answer_link},
    {"catalog", "kind filter detail", answer_catalog},    {"explain", "id", answer_explain},
    {"version", "", answer_version},               {"import", "parts name", answer_import},
    {"rank", "job link kind filter", answer_rank},
};
enum { OPERATION_COUNT = sizeof operations / sizeof operations[0] };

static const cJSON *member(const call *request, const char *key) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(request->tree, key);
    return cJSON_IsNull(value) ? NULL : value;
}

static void expect(call *request, const char *path, const char *expected) {
    gp_argue_text(gp_diagnose(request->faults, GP_CODE_WRONG_TYPE, path), "expected", expected);
}

/* Text of an optional member; NULL when it is absent or, with a row, not a text. */
static const char *text_member(call *request, const char *key) {
    const cJSON *value = member(request, key);
    if (value == NULL) return NULL;
    if (cJSON_IsString(value)) return value->valuestring;
    expect(request, key, "text");
    return NULL;
}

static void require(call *request, const char *key) {
    if (member(request, key) == NULL) gp_diagnose(request->faults, GP_CODE_MISSING, key);
}

static void write_faults(call *request) {
    gp_report_diagnostics(request->writer, "errors", request->faults, GP_SEVERITY_ERROR);
    gp_report_diagnostics(request->writer, "warnings", request->faults, GP_SEVERITY_WARNING);
}

/* The job of a request, from its `job` or `link`; a tree made from a link is the caller's, through `owned`. */
static const cJSON *find_job(call *request, cJSON **owned) {
    const cJSON *job = member(request, "job");
    const char *link = text_member(request, "link");
    *owned = NULL;
    if (job != NULL && link != NULL)
        gp_argue_text(gp_diagnose(request->faults, GP_CODE_NOT_TOGETHER, "link"), "other", "job");
    if (job != NULL) {
        if (cJSON_IsObject(job)) return job;
        expect(request, "job", "object");
        return NULL;
    }
    if (link == NULL) {
        if (member(request, "link") == NULL) require(request, "job");
        return NULL;
    }
    *owned = gp_link_decode(link, request->faults);
    if (*owned == NULL) gp_diagnose(request->faults, GP_CODE_OUT_OF_MEMORY, "");
    return *owned;
}

/* GP_DETAIL_FULL when nothing is said; any other word is an error. */
static gp_detail wanted_detail(call *request) {
    const char *detail = text_member(request, "detail");
    if (detail == NULL || strcmp(detail, "full") == 0) return GP_DETAIL_FULL;
    if (strcmp(detail, "figures") == 0) return GP_DETAIL_FIGURES;
    if (strcmp(detail, "brief") == 0) return GP_DETAIL_BRIEF;
    gp_diagnostic *row = gp_diagnose(request->faults, GP_CODE_UNKNOWN_CHOICE, "detail");
    gp_argue_text(row, "value", detail);
    gp_argue_text(row, "choices", "brief, figures, full");
    return GP_DETAIL_FULL;
}

static void read_job(call *request, const cJSON *tree) {
    gp_job_read(tree, &request->space->job, request->faults);
    request->space->job.replays = &request->space->replays;
    request->space->job.file = &request->space->file;
}

static void answer_plan(call *request) {
    gp_plan *plan = &request->space->plan;
    cJSON *owned = NULL;
    gp_detail detail = wanted_detail(request);
    bool brief = detail == GP_DETAIL_BRIEF;
    const cJSON *job = find_job(request, &owned);
    plan->stages = NULL;
    bool planned = false;
    if (job != NULL) {
        read_job(request, job);
        planned = gp_plan_make(&request->space->job, brief ? NULL : &request->space->outlook, plan);
    }
    char *link = planned && !brief ? gp_link_encode(job) : NULL;
    if (planned)
        gp_report_plan(request->writer, plan, detail, link);
    else
        write_faults(request);
    free(link);
    gp_plan_release(plan);
    cJSON_Delete(owned);
}

/* GP_RANK_GPUS when nothing is said; any other word is an error. */
static gp_rank_kind wanted_kind(call *request) {
    const char *kind = text_member(request, "kind");
    if (kind == NULL || strcmp(kind, "gpus") == 0) return GP_RANK_GPUS;
    if (strcmp(kind, "instances") == 0) return GP_RANK_INSTANCES;
    if (strcmp(kind, "models") == 0) return GP_RANK_MODELS;
    gp_diagnostic *row = gp_diagnose(request->faults, GP_CODE_UNKNOWN_CHOICE, "kind");
    gp_argue_text(row, "value", kind);
    gp_argue_text(row, "choices", "gpus, instances, models");
    return GP_RANK_GPUS;
}

/* Every model takes the place of the job's, so a job that names none gets the first of the catalogue to be read at all. The
 * tree that is made is the caller's, through `owned`; NULL with a row when memory ran out. */
static const cJSON *with_some_model(call *request, const cJSON *tree, cJSON **owned) {
    gp_model_row first;
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(tree, "model");
    if ((model != NULL && !cJSON_IsNull(model)) || !gp_catalog_model(0, &first)) return tree;
    cJSON *copy = cJSON_Duplicate(tree, true);
    cJSON_Delete(*owned);
    *owned = copy;
    cJSON_DeleteItemFromObjectCaseSensitive(copy, "model");
    if (copy != NULL && cJSON_AddStringToObject(copy, "model", first.id) != NULL) return copy;
    gp_diagnose(request->faults, GP_CODE_OUT_OF_MEMORY, "");
    return NULL;
}

static void answer_rank(call *request) {
    const char *filter = text_member(request, "filter");
    gp_rank_kind kind = wanted_kind(request);
    gp_job *job = &request->space->job;
    cJSON *owned = NULL;
    const cJSON *tree = find_job(request, &owned);
    if (tree != NULL && kind == GP_RANK_MODELS) tree = with_some_model(request, tree, &owned);
    if (tree != NULL) read_job(request, tree);
    int count = 0;
    gp_rank_row *rows = NULL;
    if (!gp_has_errors(request->faults)) {
        rows = gp_rank(job, kind, filter != NULL ? filter : "", &request->space->outlook, &count);
        if (rows == NULL) gp_diagnose(request->faults, GP_CODE_OUT_OF_MEMORY, "");
    }
    if (rows != NULL)
        gp_report_rank(request->writer, rows, count);
    else
        write_faults(request);
    free(rows);
    cJSON_Delete(owned);
}

/* Keys that a link has no place for: they alone would be lost. What else is wrong with a job travels with it. */
static void find_unknown_keys(call *request, const cJSON *job) {
    gp_diagnostics *all = &request->space->plan.scratch;
    gp_diagnostics_clear(all);
    gp_job_read(job, &request->space->job, all);
    for (int i = 0; i < all->count; i++) {
        const gp_diagnostic *row = &all->rows[i];
        if (row->code == GP_CODE_UNKNOWN_KEY) *gp_diagnose(request->faults, row->code, row->path) = *row;
    }
}

static void answer_link(call *request) {
    cJSON *owned = NULL;
    const cJSON *job = find_job(request, &owned);
    if (job != NULL && owned == NULL) find_unknown_keys(request, job);
    char *link = job != NULL ? gp_link_encode(job) : NULL;
    if (job != NULL && link == NULL) gp_diagnose(request->faults, GP_CODE_OUT_OF_MEMORY, "");
    if (gp_has_errors(request->faults))
        write_faults(request);
    else
        gp_report_diagnostics(request->writer, "warnings", request->faults, GP_SEVERITY_WARNING);
    if (owned != NULL) gp_write_tree(request->writer, "job", owned);
    gp_write_known_text(request->writer, "link", link);
    free(link);
    cJSON_Delete(owned);
}

static void answer_catalog(call *request) {
    const char *kind = text_member(request, "kind"), *filter = text_member(request, "filter");
    gp_detail detail = wanted_detail(request);
    require(request, "kind");
    if (gp_has_errors(request->faults)) {
        write_faults(request);
        return;
    }
    if (gp_report_catalog(request->writer, kind, filter != NULL ? filter : "", detail)) return;
    gp_diagnostic *row = gp_diagnose(request->faults, GP_CODE_UNKNOWN_CHOICE, "kind");
    gp_argue_text(row, "value", kind);
    gp_argue_text(row, "choices", "models, gpus, instances, links, fields, formulas");
    write_faults(request);
}

/* The nearest formula or item to an id that is neither. */
static void refuse_id(call *request, const char *id) {
    gp_nearest search;
    gp_nearest_start(&search, id, strlen(id));
    for (int i = 0; gp_formula_at(i) != NULL; i++)
        gp_nearest_offer(&search, gp_formula_at(i)->id, strlen(gp_formula_at(i)->id));
    gp_diagnostic *row = gp_diagnose(request->faults, GP_CODE_UNKNOWN_CHOICE, "id");
    gp_argue_text(row, "value", id);
    if (search.best != NULL) gp_argue_text(row, "nearest", search.best);
    write_faults(request);
}

static void answer_explain(call *request) {
    const char *id = text_member(request, "id");
    require(request, "id");
    if (gp_has_errors(request->faults))
        write_faults(request);
    else if (!gp_report_explain(request->writer, id))
        refuse_id(request, id);
}

static void answer_version(call *request) {
    if (gp_has_errors(request->faults)) {
        write_faults(request);
        return;
    }
    gp_write_whole(request->writer, "grammar", GP_GRAMMAR_VERSION);
    gp_write_whole(request->writer, "link", GP_LINK_VERSION);
}

static void answer_import(call *request) {
    const char *name = text_member(request, "name");
    require(request, "parts");
    if (!gp_has_errors(request->faults))
        gp_import_request(member(request, "parts"), name, request->files, request->file_bytes, request->writer,
                          request->faults);
    write_faults(request);
}

static void check_version(call *request) {
    const cJSON *version = member(request, "gpuplan");
    if (version == NULL) return;
    if (!cJSON_IsNumber(version)) {
        expect(request, "gpuplan", "integer");
        return;
    }
    double value = version->valuedouble;
    bool whole = value >= 1 && floor(value) >= value;
    if (whole && value <= GP_GRAMMAR_VERSION) return;
    gp_code code = whole ? GP_CODE_UNSUPPORTED_VERSION : GP_CODE_NOT_A_VERSION;
    gp_diagnostic *row = gp_diagnose(request->faults, code, "gpuplan");
    gp_argue_number(row, "value", value);
    gp_argue_number(row, "newest", GP_GRAMMAR_VERSION);
}

/* True when `key` is one of the words of `list`; each is offered to the search besides. */
static bool is_listed(const char *list, const char *key, gp_nearest *search) {
    size_t key_length = strlen(key);
    while (list[0] != '\0') {
        size_t length = strcspn(list, " ");
        if (length == key_length && memcmp(list, key, length) == 0) return true;
        gp_nearest_offer(search, list, length);
        list += length;
        if (list[0] == ' ') list++;
    }
    return false;
}

static void check_keys(call *request, const char *members) {
    for (const cJSON *item = request->tree->child; item != NULL; item = item->next) {
        gp_nearest search;
        gp_nearest_start(&search, item->string, strlen(item->string));
        if (is_listed("gpuplan op", item->string, &search) || is_listed(members, item->string, &search)) continue;
        gp_diagnostic *row = gp_diagnose(request->faults, GP_CODE_UNKNOWN_KEY, item->string);
        char nearest[GP_NAME_BYTES];
        if (search.best == NULL) continue;
        gp_text_copy(nearest, sizeof nearest, search.best, search.best_length);
        gp_argue_text(row, "nearest", nearest);
    }
}

static const operation *find_operation(call *request) {
    const char *op = text_member(request, "op");
    require(request, "op");
    if (op == NULL) return NULL;
    gp_nearest search;
    gp_nearest_start(&search, op, strlen(op));
    for (int i = 0; i < OPERATION_COUNT; i++) {
        if (strcmp(operations[i].op, op) == 0) return &operations[i];
        gp_nearest_offer(&search, operations[i].op, strlen(operations[i].op));
    }
    gp_diagnostic *row = gp_diagnose(request->faults, GP_CODE_UNKNOWN_OPERATION, "op");
    gp_argue_text(row, "value", op);
    if (search.best != NULL) gp_argue_text(row, "nearest", search.best);
    return NULL;
}

static void answer_tree(call *request) {
    const operation *found = find_operation(request);
    gp_report_begin(request->writer, found != NULL ? found->op : NULL);
    check_version(request);
    if (found == NULL) {
        write_faults(request);
        return;
    }
    check_keys(request, found->members);
    found->answer(request);
}

char *gp_answer_with(const char *request, size_t length, const void *files, size_t file_bytes) {
    gp_writer writer;
    gp_writer_start(&writer);
    workspace *space = malloc(sizeof *space);
    if (space == NULL) {
        free(gp_writer_finish(&writer));
        return NULL;
    }
    gp_diagnostics *faults = &space->plan.diagnostics;
    gp_diagnostics_clear(faults);
    space->replays.count = 0;
    space->file.mix = -1;
    cJSON *tree = gp_request_parse(request, length, faults);
    call made = {.tree = tree, .faults = faults, .space = space, .writer = &writer,
                 .files = files, .file_bytes = files != NULL ? file_bytes : 0};
    if (tree != NULL) {
        answer_tree(&made);
    } else {
        gp_report_begin(&writer, NULL);
        write_faults(&made);
    }
    gp_report_end(&writer);
    cJSON_Delete(tree);
    free(space);
    return gp_writer_finish(&writer);
}

char *gp_answer_bytes(const char *request, size_t length) { return gp_answer_with(request, length, NULL, 0); }

char *gp_answer(const char *request) { return gp_answer_bytes(request, request != NULL ? strlen(request) : 0); }

void gp_free(char *report) { free(report); }

const char *gp_version(void) { return GP_VERSION; }
