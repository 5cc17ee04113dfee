#include "bytes_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpuplan.h"

#define LINE_BYTES_MAX ((size_t)GP_REQUEST_BYTES_MAX + 1)
#define CAPACITY (LINE_BYTES_MAX + 65536)

static ssize_t read_some(int descriptor, char *bytes, size_t size) {
    ssize_t count;
    do count = read(descriptor, bytes, size);
    while (count < 0 && errno == EINTR);
    return count;
}

int gp_read_file(const char *path, gp_buffer *buffer) {
    const bool is_input = strcmp(path, "-") == 0;
    const int descriptor = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return errno;
    char part[16384];
    int error = 0;
    while (buffer->length < LINE_BYTES_MAX && !buffer->failed) {
        const size_t room = LINE_BYTES_MAX - buffer->length;
        const ssize_t count = read_some(descriptor, part, room < sizeof part ? room : sizeof part);
        if (count < 0) error = errno;
        if (count <= 0) break;
        gp_buffer_bytes(buffer, part, (size_t)count);
    }
    if (!is_input) close(descriptor);
    return buffer->failed ? ENOMEM : error;
}

int gp_lines_open(gp_lines *lines, const char *path) {
    *lines = (gp_lines){.descriptor = STDIN_FILENO};
    if (strcmp(path, "-") != 0) lines->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (lines->descriptor < 0) return errno;
    lines->bytes = malloc(CAPACITY);
    return lines->bytes ? 0 : ENOMEM;
}

void gp_lines_release(gp_lines *lines) {
    free(lines->bytes);
    if (lines->descriptor > STDIN_FILENO) close(lines->descriptor);
}

/* Hands out bytes start … stop as a line and goes on at `next`. */
static gp_line_state hand_out(gp_lines *lines, size_t stop, size_t next, const char **line, size_t *length) {
    *line = lines->bytes + lines->start;
    *length = stop - lines->start;
    if (*length > LINE_BYTES_MAX) *length = LINE_BYTES_MAX;
    else if (*length > 0 && (*line)[*length - 1] == '\r') (*length)--;
    lines->start = lines->scanned = next;
    return GP_LINE;
}

gp_line_state gp_lines_next(gp_lines *lines, const char **line, size_t *length) {
    for (;;) {
        const char *from = lines->bytes + lines->scanned;
        const char *found = memchr(from, '\n', lines->end - lines->scanned);
        if (found) {
            const size_t stop = (size_t)(found - lines->bytes);
            if (!lines->skipping) return hand_out(lines, stop, stop + 1, line, length);
            lines->skipping = false;
            lines->start = lines->scanned = stop + 1;
            continue;
        }
        if (lines->skipping) lines->start = lines->end;
        lines->scanned = lines->end;
        if (lines->end - lines->start > LINE_BYTES_MAX) {
            lines->skipping = true;
            return hand_out(lines, lines->end, lines->end, line, length);
        }
        if (!lines->ended) return GP_LINE_WOULD_WAIT;
        if (lines->start == lines->end) return GP_LINE_END;
        return hand_out(lines, lines->end, lines->end, line, length);
    }
}

void gp_lines_fill(gp_lines *lines) {
    const size_t kept = lines->end - lines->start;
    if (lines->start == lines->end || CAPACITY - lines->end < CAPACITY / 4) {
        memmove(lines->bytes, lines->bytes + lines->start, kept);
        lines->scanned -= lines->start;
        lines->start = 0;
        lines->end = kept;
    }
    const ssize_t count = read_some(lines->descriptor, lines->bytes + lines->end, CAPACITY - lines->end);
    if (count > 0) {
        lines->end += (size_t)count;
    } else {
        lines->ended = true;
        lines->error = count < 0 ? errno : 0;
    }
}
