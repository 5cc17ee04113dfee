#include "buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"

static bool reserve(gp_buffer *buffer, size_t extra) {
    if (buffer->failed) return false;
    if (extra < buffer->capacity - buffer->length) return true;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity <= buffer->length + extra) {
        if (capacity > SIZE_MAX / 2) {
            buffer->failed = true;
            return false;
        }
        capacity *= 2;
    }
    char *text = realloc(buffer->text, capacity);
    if (!text) {
        buffer->failed = true;
        return false;
    }
    buffer->text = text;
    buffer->capacity = capacity;
    return true;
}

void gp_buffer_bytes(gp_buffer *buffer, const char *bytes, size_t length) {
    if (!reserve(buffer, length)) return;
    memcpy(buffer->text + buffer->length, bytes, length);
    buffer->length += length;
    buffer->text[buffer->length] = '\0';
}

void gp_buffer_text(gp_buffer *buffer, const char *text) {
    gp_buffer_bytes(buffer, text, strlen(text));
}

void gp_buffer_repeat(gp_buffer *buffer, const char *text, int times) {
    for (int i = 0; i < times; i++) gp_buffer_text(buffer, text);
}

void gp_buffer_printf(gp_buffer *buffer, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0) gp_buffer_text(buffer, text);
}

/* C0, DEL and C1 controls, and the marks that reorder text. */
static bool steers_terminal(uint32_t character) {
    return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
           (character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

void gp_buffer_foreign(gp_buffer *buffer, const char *text) {
    while (*text) {
        uint32_t character;
        const char *next = gp_next_character(text, &character);
        if (steers_terminal(character)) gp_buffer_text(buffer, "\xef\xbf\xbd");
        else gp_buffer_bytes(buffer, text, (size_t)(next - text));
        text = next;
    }
}

const char *gp_buffer_string(const gp_buffer *buffer) {
    return buffer->text ? buffer->text : "";
}

void gp_buffer_clear(gp_buffer *buffer) {
    buffer->length = 0;
    if (buffer->text) buffer->text[0] = '\0';
}

void gp_buffer_release(gp_buffer *buffer) {
    free(buffer->text);
    *buffer = (gp_buffer){0};
}
