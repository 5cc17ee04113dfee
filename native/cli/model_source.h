/* model_source.h: files of a model, read only as far as the core asks: the first megabytes of a file of any size. */
#ifndef GP_MODEL_SOURCE_H
#define GP_MODEL_SOURCE_H

#include "view.h"

struct cJSON;

/* The core's report on the files ("-" is standard input), which the caller deletes; NULL after a fault, which was
 * printed. `text` receives the report itself when it is not NULL; *exit_code says how it went. */
struct cJSON *gp_model_report(const gp_view *view, const char *const *paths, int count, gp_buffer *text,
                              int *exit_code);

/* Puts the model of such a report into a job. */
void gp_model_put(struct cJSON *job, const struct cJSON *report);
/* Puts what an inference job does not say about weights and engine. */
void gp_model_put_weights(struct cJSON *job, const struct cJSON *report);

/* Adds to the warnings of a plan, before its own, what the files of its model were warned of (`rows`, which may be
 * NULL) and the plan does not say itself: to the tree and to its text. A plan with faults has no warnings. */
void gp_model_add_warnings(struct cJSON *plan, gp_buffer *text, const struct cJSON *rows);

#endif
