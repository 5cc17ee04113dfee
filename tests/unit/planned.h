/* planned.h: a plan from the text of a `job` object, for the tests of what follows the ledger. */
#ifndef GP_TEST_PLANNED_H
#define GP_TEST_PLANNED_H

#include "advise/planner.h"

typedef struct {
    struct cJSON *tree;
    gp_job job;
    gp_plan plan, outlook;
    bool made;
} planned;

/* Owned by the caller (planned_free). */
planned *planned_of(const char *job);
void planned_free(planned *p);

/* True when the plan's diagnostics hold `code` at `path`. */
bool planned_has(const planned *p, gp_code code, const char *path);
/* The solution of a field; fails the test when there is none. */
const gp_solution *planned_solution(const planned *p, int field);

/* `job` with `path` set to a JSON value, as text owned by the caller (free). */
char *job_with(const char *job, const char *path, const char *value);
char *job_with_number(const char *job, const char *path, double value);

#endif
