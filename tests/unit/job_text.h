/* job_text.h: one job at a time, read from its text. */
#ifndef GP_TEST_JOB_TEXT_H
#define GP_TEST_JOB_TEXT_H

#include "request/job.h"

extern gp_job job;
extern gp_diagnostics faults;
extern struct cJSON *job_tree; /* `job` borrows from it */

/* Reads a job into `job` and its faults into `faults`, in place of the one before; returns the faults as faults_text
 * does. A tree is owned from then on. */
const char *read_job(const char *text);
const char *read_job_tree(struct cJSON *tree);
/* Teardown of a test: releases the job. */
int drop_job(void **state);

#endif
