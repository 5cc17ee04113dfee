/* faults.h: reading back what a call said, for the tests of what comes from outside. */
#ifndef GP_TESTS_FAULTS_H
#define GP_TESTS_FAULTS_H

#include "base/diagnostics.h"

/* The rows as "code path", one a line, in order; static storage, overwritten by the next call. */
const char *faults_text(const gp_diagnostics *list);
/* Argument of the first row with that code, as text ("" when absent); static storage. */
const char *fault_argument(const gp_diagnostics *list, gp_code code, const char *name);

#endif
