/* Any bytes at all are a request: the answer is one JSON object, the same one each time. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cJSON.h"
#include "gpuplan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *first = gp_answer_bytes((const char *)data, size);
    char *second = gp_answer_bytes((const char *)data, size);
    cJSON *report = cJSON_Parse(first);
    if (!first || !second || strcmp(first, second) != 0 || !cJSON_IsObject(report)) abort();
    cJSON_Delete(report);
    gp_free(first);
    gp_free(second);
    return 0;
}
