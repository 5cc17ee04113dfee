/* buffer.h: text that grows. Everything this program prints is composed here first and written in one piece, so a
 * reader never sees half a JSON document. A failed allocation is remembered in `failed`; later calls do nothing. */
#ifndef GP_BUFFER_H
#define GP_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *text; /* NUL-terminated once anything was added, else NULL */
    size_t length, capacity;
    bool failed;
} gp_buffer;

void gp_buffer_bytes(gp_buffer *buffer, const char *bytes, size_t length);
void gp_buffer_text(gp_buffer *buffer, const char *text);
void gp_buffer_repeat(gp_buffer *buffer, const char *text, int times);
/* For numbers and short fixed texts: at most 255 bytes. */
void gp_buffer_printf(gp_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text from outside (a model's name, a file's): control characters, which could steer a terminal, become U+FFFD. */
void gp_buffer_foreign(gp_buffer *buffer, const char *text);
/* The text, "" when empty. */
const char *gp_buffer_string(const gp_buffer *buffer);
/* Empties the buffer and keeps its memory. */
void gp_buffer_clear(gp_buffer *buffer);
void gp_buffer_release(gp_buffer *buffer);

#endif
