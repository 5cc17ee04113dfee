/* output.h: the way to standard output. A reader that went away (EPIPE, as in `gpuplan batch | head`) is no fault. */
#ifndef GP_OUTPUT_H
#define GP_OUTPUT_H

#include <stdbool.h>

#include "buffer.h"

/* Exit codes, documented in `gpuplan help` and the manual page. */
enum { GP_EXIT_FITS = 0, GP_EXIT_NO = 1, GP_EXIT_REQUEST = 2, GP_EXIT_INTERNAL = 3 };

/* To be called once, before any output. */
void gp_output_start(void);

typedef enum { GP_OUTPUT_DONE, GP_OUTPUT_CLOSED, GP_OUTPUT_FAILED } gp_output_state;

/* Writes the buffer to standard output, all of it, and empties it. FAILED has been reported on standard error. */
gp_output_state gp_output_write(gp_buffer *buffer);

/* Writes the buffer and returns `exit_code`, or GP_EXIT_INTERNAL when it could not be composed or written. The
 * buffer is released. */
int gp_output_finish(gp_buffer *buffer, int exit_code);

#endif
