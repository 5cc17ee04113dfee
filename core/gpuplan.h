/* gpuplan.h: the one public header of the core.
 *
 * The core is a pure function from a request to a report, both JSON (docs/request.md, docs/report.md). It performs no
 * input or output, reads no clock and keeps no state between calls, so the same request always gives the same bytes,
 * natively and in WebAssembly. Every function may be called from several threads at once. */
#ifndef GPUPLAN_H
#define GPUPLAN_H

#include <stddef.h>

#define GP_VERSION "0.1.0"
/* Version of the request and report grammar, and of the plan link. */
#define GP_GRAMMAR_VERSION 1
/* Longest request accepted; a longer one is answered with the error `request_too_long`. */
#define GP_REQUEST_BYTES_MAX (1u << 20)

/* Answers one request.
 * request: NUL-terminated text; may be anything at all, including NULL.
 * Returns the report, NUL-terminated JSON on one line, owned by the caller (gp_free). A request that cannot be
 * answered gives a report with `errors`. NULL only when memory for the report itself could not be had. */
char *gp_answer(const char *request);

/* As gp_answer, for `length` bytes that need not end in NUL (a NUL inside them is an error of the request). */
char *gp_answer_bytes(const char *request, size_t length);

/* As gp_answer_bytes, with bytes of files beside the request, which its `parts` describe (operation `import`): a file
 * is no text. `files` is only read. */
char *gp_answer_with(const char *request, size_t length, const void *files, size_t file_bytes);

/* Releases a report. NULL is allowed. */
void gp_free(char *report);

/* The version of the program, GP_VERSION. */
const char *gp_version(void);

#endif
