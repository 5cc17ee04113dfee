/* bench_core.c: how long one answer takes, from the text of a request to the text of its report. Reads rows {name, job},
 * one a line, and prints for each the microseconds of a brief report, of one without the texts behind its figures and of a
 * full one, and its name. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cJSON.h"
#include "gpuplan.h"

enum { LINE_BYTES = 65536, ROUNDS = 40, ROUND_NS = 2000000 };

/* Time of this process on its processor: the machine may be busy with other things. */
static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Mean of one round: as many answers as fill ROUND_NS. */
static double round_ns(const char *request, int answers) {
    double start = now_ns();
    for (int i = 0; i < answers; i++) gp_free(gp_answer(request));
    return (now_ns() - start) / answers;
}

/* Least of the rounds: what else the machine does only ever adds. */
static double answer_us(const char *request) {
    double once = round_ns(request, 8), least = once;
    int answers = once > 0 ? (int)(ROUND_NS / once) + 1 : 1;
    for (int i = 0; i < ROUNDS; i++) {
        double round = round_ns(request, answers);
        if (round < least) least = round;
    }
    return least / 1e3;
}

/* A request for the job of a row, owned by the caller. */
static char *request_of(const cJSON *row, const char *detail) {
    cJSON *request = cJSON_CreateObject();
    cJSON_AddNumberToObject(request, "gpuplan", 1);
    cJSON_AddStringToObject(request, "op", "plan");
    cJSON_AddItemReferenceToObject(request, "job", cJSON_GetObjectItemCaseSensitive(row, "job"));
    cJSON_AddStringToObject(request, "detail", detail);
    char *text = cJSON_PrintUnformatted(request);
    cJSON_Delete(request);
    return text;
}

/* False for a job without a plan. */
static bool print_time(const cJSON *row, const char *detail) {
    char *request = request_of(row, detail), *report = request != NULL ? gp_answer(request) : NULL;
    bool good = report != NULL && strstr(report, "\"errors\":") == NULL;
    if (good) printf("%10.1f", answer_us(request));
    gp_free(report);
    free(request);
    return good;
}

static bool print_row(const char *line) {
    static const char *const details[] = {"brief", "figures", "full"};
    cJSON *row = cJSON_Parse(line);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "name"));
    bool good = name != NULL && cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(row, "job"));
    for (int i = 0; i < 3 && good; i++) good = print_time(row, details[i]);
    if (good) printf("  %s\n", name);
    cJSON_Delete(row);
    return good;
}

int main(int argc, char **argv) {
    static char line[LINE_BYTES];
    const char *path = argc > 1 ? argv[1] : "tests/bench/jobs.jsonl";
    FILE *rows = fopen(path, "r");
    if (rows == NULL) {
        fprintf(stderr, "bench_core: cannot read %s\n", path);
        return 2;
    }
    bool good = true;
    while (good && fgets(line, sizeof line, rows) != NULL) good = print_row(line);
    fclose(rows);
    if (good) return 0;
    fprintf(stderr, "bench_core: no plan for %s", line);
    return 2;
}
