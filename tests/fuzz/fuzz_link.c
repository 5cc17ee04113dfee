/* Any text is a plan link: what can be read of it is a job, that job's own link reads back as the same job, and the job
 * gets an answer. A link bears more changes than JSON does before nothing of it is left, so this fuzzer goes deepest. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "gpuplan.h"
#include "request/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const cJSON *job) {
    static gp_diagnostics diagnostics;
    char *link = gp_link_encode(job);
    gp_diagnostics_clear(&diagnostics);
    cJSON *again = link ? gp_link_decode(link, &diagnostics) : NULL;
    char *second = again ? gp_link_encode(again) : NULL;
    if (!link || !second || strcmp(link, second) != 0) abort();
    cJSON_Delete(again);
    free(link);
    free(second);
}

static void check_answer(const cJSON *job) {
    cJSON *request = cJSON_CreateObject();
    cJSON_AddItemToObject(request, "job", cJSON_Duplicate(job, true));
    char *text = cJSON_PrintUnformatted(request);
    char *answer = text ? gp_answer(text) : NULL;
    cJSON *report = answer ? cJSON_Parse(answer) : NULL;
    if (!cJSON_IsObject(report)) abort();
    cJSON_Delete(report);
    cJSON_Delete(request);
    gp_free(answer);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static gp_diagnostics diagnostics;
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';

    gp_diagnostics_clear(&diagnostics);
    cJSON *job = gp_link_decode(text, &diagnostics);
    if (!job) abort();
    check_round_trip(job);
    check_answer(job);
    cJSON_Delete(job);
    free(text);
    return 0;
}
