#include "job_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cJSON.h>
#include <cmocka.h>

#include "faults.h"

gp_job job;
gp_diagnostics faults;
cJSON *job_tree;

const char *read_job_tree(cJSON *tree) {
    assert_non_null(tree);
    cJSON_Delete(job_tree);
    job_tree = tree;
    gp_diagnostics_clear(&faults);
    gp_job_read(tree, &job, &faults);
    return faults_text(&faults);
}

const char *read_job(const char *text) { return read_job_tree(cJSON_Parse(text)); }

int drop_job(void **state) {
    (void)state;
    cJSON_Delete(job_tree);
    job_tree = NULL;
    return 0;
}
