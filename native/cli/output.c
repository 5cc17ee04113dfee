#include "output.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void gp_output_start(void) {
    /* A closed pipe then shows as EPIPE at the write, where it can be told from a full disk. */
    signal(SIGPIPE, SIG_IGN);
}

gp_output_state gp_output_write(gp_buffer *buffer) {
    if (buffer->failed) {
        fputs("gpuplan: out of memory\n", stderr);
        return GP_OUTPUT_FAILED;
    }
    size_t written = 0;
    while (written < buffer->length) {
        const ssize_t count = write(STDOUT_FILENO, buffer->text + written, buffer->length - written);
        if (count >= 0) {
            written += (size_t)count;
        } else if (errno == EPIPE) {
            return GP_OUTPUT_CLOSED;
        } else if (errno != EINTR) {
            fprintf(stderr, "gpuplan: %s\n", strerror(errno));
            return GP_OUTPUT_FAILED;
        }
    }
    gp_buffer_clear(buffer);
    return GP_OUTPUT_DONE;
}

int gp_output_finish(gp_buffer *buffer, int exit_code) {
    const gp_output_state state = gp_output_write(buffer);
    gp_buffer_release(buffer);
    return state == GP_OUTPUT_FAILED ? GP_EXIT_INTERNAL : exit_code;
}
