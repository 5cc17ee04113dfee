/* faults.h: what goes to standard error, one line each. */
#ifndef GP_FAULTS_H
#define GP_FAULTS_H

#include "view.h"

/* A fault of the command line or of a file: message `key` with {value} and {nearest}. */
void gp_fault(const gp_view *view, const char *key, const char *value, const char *nearest);

/* The `errors` of a report as "path: sentence" lines; returns how many there were. */
int gp_faults_of_report(const gp_view *view, const struct cJSON *report);

/* The same for a list of warnings, NULL for none: of files whose plan has faults and so no warnings of its own. */
int gp_warnings_of_files(const gp_view *view, const struct cJSON *rows);

/* Exit code of a report: GP_EXIT_FITS or GP_EXIT_NO by its verdict, GP_EXIT_REQUEST when it has errors,
 * GP_EXIT_INTERNAL when it is NULL or the program ran out of memory. */
int gp_exit_code_of(const struct cJSON *report);

#endif
