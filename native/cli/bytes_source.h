/* bytes_source.h: bounded reading of files and lines. */
#ifndef GP_BYTES_SOURCE_H
#define GP_BYTES_SOURCE_H

#include "buffer.h"

/* Reads a file ("-" is standard input) whole, but never more than one byte beyond the longest request, so that the
 * core refuses a longer one by itself. Returns 0, or the errno of what went wrong. */
int gp_read_file(const char *path, gp_buffer *buffer);

/* Lines of a file descriptor, in one bounded buffer. */
typedef struct {
    int descriptor;
    int error;             /* errno of a failed read, which ends the lines */
    bool ended;
    bool skipping;         /* the rest of a line that was cut is passed over */
    char *bytes;           /* owned */
    size_t start, end;     /* unread part of `bytes` */
    size_t scanned;        /* no line break lies before this one */
} gp_lines;

typedef enum { GP_LINE, GP_LINE_WOULD_WAIT, GP_LINE_END } gp_line_state;

/* Opens a file, "-" is standard input. Returns 0 or an errno; to be released either way. */
int gp_lines_open(gp_lines *lines, const char *path);
void gp_lines_release(gp_lines *lines);
/* Next line without its line break (LF or CRLF), valid until the next call. A line longer than the longest request
 * is cut one byte beyond it and its rest is skipped. WOULD_WAIT: no whole line is at hand; call gp_lines_fill. */
gp_line_state gp_lines_next(gp_lines *lines, const char **line, size_t *length);
/* Reads more; may wait for whoever writes. */
void gp_lines_fill(gp_lines *lines);

#endif
