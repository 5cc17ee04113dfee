/* report.h: the only writer of reports. docs/report.md is the contract. */
#ifndef GP_REPORT_H
#define GP_REPORT_H

#include "plan.h"

struct cJSON;

/* Report of a plan (or of its errors), as a tree owned by the caller; NULL when memory ran out.
 * brief: numbers only, without formulas, terms, steps, advice and assumptions. */
struct cJSON *gp_report_plan(const gp_plan *plan, bool brief);
/* Report that holds nothing but diagnostics. */
struct cJSON *gp_report_errors(const gp_diagnostics *diagnostics);

#endif
