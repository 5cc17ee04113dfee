/* Answers each line of the standard input with one line, through the C interface alone. */
#include <stdio.h>
#include <stdlib.h>

#include "gpuplan.h"

/* Reads up to the next newline; -1 at the end. The buffer grows as needed. */
static long read_line(char **buffer, size_t *capacity) {
    size_t length = 0;
    int byte = getchar();
    if (byte == EOF) return -1;
    for (; byte != EOF && byte != '\n'; byte = getchar()) {
        if (length == *capacity) {
            size_t larger = *capacity ? *capacity * 2 : 4096;
            char *moved = realloc(*buffer, larger);
            if (!moved) return -1;
            *buffer = moved;
            *capacity = larger;
        }
        (*buffer)[length++] = (char)byte;
    }
    return (long)length;
}

int main(void) {
    char *line = NULL;
    size_t capacity = 0;
    for (long length = read_line(&line, &capacity); length >= 0; length = read_line(&line, &capacity)) {
        char *report = gp_answer_bytes(line ? line : "", (size_t)length);
        puts(report ? report : "");
        gp_free(report);
    }
    free(line);
    return 0;
}
