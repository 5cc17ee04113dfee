#include "planned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cJSON.h>
#include <cmocka.h>

#include "tree.h"

planned *planned_of(const char *job) {
    planned *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->tree = cJSON_Parse(job);
    assert_non_null(p->tree);
    gp_diagnostics_clear(&p->plan.diagnostics);
    gp_job_read(p->tree, &p->job, &p->plan.diagnostics);
    p->made = gp_plan_make(&p->job, &p->outlook, &p->plan);
    return p;
}

void planned_free(planned *p) {
    gp_plan_release(&p->plan);
    cJSON_Delete(p->tree);
    free(p);
}

bool planned_has(const planned *p, gp_code code, const char *path) {
    for (int i = 0; i < p->plan.diagnostics.count; i++) {
        const gp_diagnostic *row = &p->plan.diagnostics.rows[i];
        if (row->code == code && strcmp(row->path, path) == 0) return true;
    }
    return false;
}

const gp_solution *planned_solution(const planned *p, int field) {
    for (int i = 0; i < p->plan.solution_count; i++)
        if ((int)p->plan.solutions[i].field == field) return &p->plan.solutions[i];
    fail_msg("field %d is not solved", field);
    return NULL;
}

char *job_with(const char *job, const char *path, const char *value) {
    cJSON *tree = cJSON_Parse(job);
    assert_non_null(tree);
    tree_put(tree, path, cJSON_Parse(value));
    char *text = cJSON_PrintUnformatted(tree);
    cJSON_Delete(tree);
    return text;
}

char *job_with_number(const char *job, const char *path, double value) {
    char text[40];
    snprintf(text, sizeof text, "%.0f", value);
    return job_with(job, path, text);
}
