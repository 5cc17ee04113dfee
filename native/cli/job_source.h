/* job_source.h: from what a person gave (a file, a pipe, a link, settings) to a request for the core. */
#ifndef GP_JOB_SOURCE_H
#define GP_JOB_SOURCE_H

#include "arguments.h"

struct cJSON;

/* True for a plan link: "#v=1&…", "v=1&…", or a URL with such a fragment. */
bool gp_is_link(const char *word);

/* Rewrites a line of input as a request for operation `op`: a full request stays what it is, a bare job or a row that
 * holds a `job` is wrapped. `brief` asks for numbers only. Text that is no JSON object is passed on as it is, so that
 * the core says what is wrong with it. */
void gp_request_of_text(const char *text, size_t length, const char *op, bool brief, gp_buffer *request);

/* The request of a command line: its operand, or standard input, with the settings applied. Returns false after a
 * fault, which was printed; *exit_code says which. `report` receives a report of faulty settings for --json. Unless it
 * is NULL, *warnings receives a list of what the files of --model were warned of, NULL for none, for the caller to
 * delete. */
bool gp_request_of_arguments(const gp_arguments *arguments, const char *op, gp_buffer *request, gp_buffer *report,
                             struct cJSON **warnings, int *exit_code);

#endif
