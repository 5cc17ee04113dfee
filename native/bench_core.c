/* bench_core.c: how long one answer takes, from the text of a request to the text of its report. Reads requests, one a
 * line, and prints a row for each: microseconds of a brief and of a full report, and their sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cJSON.h"
#include "gpuplan.h"

enum { LINE_BYTES = 65536, ROUNDS = 21, ROUND_NS = 4000000 };

/* Time of this process on its processor: the machine may be busy with other things. */
static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean of one round: as many answers as fill ROUND_NS. */
static double round_ns(const char *request, int answers) {
    double start = now_ns();
    for (int i = 0; i < answers; i++) gp_free(gp_answer(request));
    return (now_ns() - start) / answers;
}

/* Median over the rounds, which sets aside what else the machine was doing. */
static double answer_us(const char *request) {
    double once = round_ns(request, 8);
    int answers = once > 0 ? (int)(ROUND_NS / once) + 1 : 1;
    double rounds[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) rounds[i] = round_ns(request, answers);
    qsort(rounds, ROUNDS, sizeof rounds[0], by_size);
    return rounds[ROUNDS / 2] / 1e3;
}

static size_t report_bytes(const char *request) {
    char *report = gp_answer(request);
    size_t length = report != NULL ? strlen(report) : 0;
    gp_free(report);
    return length;
}

/* The request with another detail, owned by the caller. */
static char *with_detail(const char *line, const char *detail) {
    cJSON *tree = cJSON_Parse(line);
    if (!cJSON_IsObject(tree)) {
        cJSON_Delete(tree);
        return NULL;
    }
    cJSON_DeleteItemFromObjectCaseSensitive(tree, "detail");
    cJSON_AddStringToObject(tree, "detail", detail);
    char *text = cJSON_PrintUnformatted(tree);
    cJSON_Delete(tree);
    return text;
}

static void print_row(int row, const char *line) {
    char *brief = with_detail(line, "brief"), *full = with_detail(line, "full");
    if (brief != NULL && full != NULL)
        printf("%4d %10.1f %10.1f %12zu %12zu\n", row, answer_us(brief), answer_us(full), report_bytes(brief),
               report_bytes(full));
    free(brief);
    free(full);
}

int main(int argc, char **argv) {
    static char line[LINE_BYTES];
    const char *path = argc > 1 ? argv[1] : "tests/bench/jobs.jsonl";
    FILE *requests = fopen(path, "r");
    if (requests == NULL) {
        fprintf(stderr, "bench_core: cannot read %s\n", path);
        return 2;
    }
    printf(" row   brief us    full us  brief bytes   full bytes\n");
    for (int row = 1; fgets(line, sizeof line, requests) != NULL; row++) print_row(row, line);
    fclose(requests);
    return 0;
}
