/* Any bytes are a file: the import says what it is or what is wrong, in one JSON object, the same each time. The last
 * byte decides how much of the file is at hand, so that reading by slices is tried as well. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "gpuplan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *ask(const uint8_t *data, size_t at_hand, size_t size, int known) {
    char request[256];
    if (known)
        snprintf(request, sizeof request, "{\"op\":\"import\",\"parts\":[{\"name\":\"f\",\"bytes\":%zu,\"size\":%zu}]}", at_hand, size);
    else
        snprintf(request, sizeof request, "{\"op\":\"import\",\"parts\":[{\"name\":\"f\",\"bytes\":%zu,\"size\":null}]}", at_hand);
    return gp_answer_with(request, strlen(request), data, at_hand);
}

/* A part that needs more bytes asks for more than it has, and for no more than there are. */
static void check_need(const cJSON *report, size_t at_hand, size_t size, int known) {
    const cJSON *need = cJSON_GetObjectItemCaseSensitive(report, "need");
    const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(need, 0), "bytes");
    if (!need) return;
    if (!cJSON_IsNumber(bytes) || bytes->valuedouble <= (double)at_hand) abort();
    if (known && bytes->valuedouble > (double)size) abort();
}

/* What was understood is a job that can be planned or is refused with errors. */
static void plan(const cJSON *report) {
    cJSON *job = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(report, "job"), 1);
    if (!job) return;
    cJSON *request = cJSON_CreateObject();
    cJSON_AddStringToObject(request, "op", "plan");
    cJSON_AddStringToObject(request, "detail", "brief");
    cJSON_AddStringToObject(job, "task", "infer");
    cJSON_AddItemToObject(request, "job", job);
    char *text = cJSON_PrintUnformatted(request);
    char *answer = gp_answer(text);
    if (!answer) abort();
    gp_free(answer);
    cJSON_free(text);
    cJSON_Delete(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t at_hand = size;
    int known = size == 0 || data[size - 1] % 4 != 1;
    if (size > 0 && data[size - 1] % 4 >= 2) at_hand = size * (data[size - 1] / 4u) / 64u;
    char *first = ask(data, at_hand, size, known), *second = size % 8 == 1 ? ask(data, at_hand, size, known) : NULL;
    cJSON *report = cJSON_Parse(first);
    if (!first || (second && strcmp(first, second) != 0) || !cJSON_IsObject(report)) abort();
    check_need(report, at_hand, size, known);
    if (size % 8 == 0) plan(report);
    cJSON_Delete(report);
    gp_free(first);
    gp_free(second);
    return 0;
}
