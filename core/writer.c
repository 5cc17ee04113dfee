#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantity.h"

/* Most reports fit the first block; a larger one doubles it. */
#define FIRST_BLOCK_BYTES 16384u

void gp_writer_start(gp_writer *writer) {
    *writer = (gp_writer){.text = malloc(FIRST_BLOCK_BYTES), .capacity = FIRST_BLOCK_BYTES};
    writer->failed = writer->text == NULL;
}

static bool reserve(gp_writer *writer, size_t more) {
    if (writer->failed) return false;
    if (more < writer->capacity - writer->length) return true;
    size_t capacity = writer->capacity;
    while (more >= capacity - writer->length) {
        if (capacity > SIZE_MAX / 2) break;
        capacity *= 2;
    }
    char *text = realloc(writer->text, capacity);
    if (text == NULL || more >= capacity - writer->length) {
        free(text != NULL ? text : writer->text);
        writer->text = NULL;
        writer->failed = true;
        return false;
    }
    writer->text = text;
    writer->capacity = capacity;
    return true;
}

static void append(gp_writer *writer, const char *bytes, size_t length) {
    if (!reserve(writer, length)) return;
    memcpy(writer->text + writer->length, bytes, length);
    writer->length += length;
}

static void append_byte(gp_writer *writer, char byte) {
    if (!reserve(writer, 1)) return;
    writer->text[writer->length++] = byte;
}

char *gp_writer_finish(gp_writer *writer) {
    append_byte(writer, '\0');
    char *text = writer->text;
    *writer = (gp_writer){0};
    return text;
}

static void begin_value(gp_writer *writer, const char *key) {
    if (writer->comma) append_byte(writer, ',');
    writer->comma = true;
    if (key == NULL) return;
    append_byte(writer, '"');
    append(writer, key, strlen(key));
    append(writer, "\":", 2);
}

void gp_write_open(gp_writer *writer, const char *key, char bracket) {
    begin_value(writer, key);
    append_byte(writer, bracket);
    writer->comma = false;
}

void gp_write_close(gp_writer *writer, char bracket) {
    append_byte(writer, bracket);
    writer->comma = true;
}

static void append_digits(gp_writer *writer, uint64_t value) {
    char digits[20];
    size_t start = sizeof digits;
    do {
        digits[--start] = (char)('0' + (char)(value % 10));
        value /= 10;
    } while (value > 0);
    append(writer, digits + start, sizeof digits - start);
}

void gp_write_bytes(gp_writer *writer, const char *key, uint64_t value) {
    begin_value(writer, key);
    append_digits(writer, value);
}

void gp_write_whole(gp_writer *writer, const char *key, int64_t value) {
    begin_value(writer, key);
    if (value < 0) append_byte(writer, '-');
    append_digits(writer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static void append_fraction(gp_writer *writer, double value) {
    char text[40];
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
    /* A host program may have set a locale with another decimal sign. */
    for (char *mark = text; *mark != '\0'; mark++)
        if (*mark == ',') *mark = '.';
    append(writer, text, strlen(text));
}

void gp_write_number(gp_writer *writer, const char *key, double value) {
    double exact = (double)GP_EXACT_MAX;
    if (value >= -exact && value <= exact && value == (double)(int64_t)value) {
        gp_write_whole(writer, key, (int64_t)value);
        return;
    }
    if (!(value - value == 0)) return;
    begin_value(writer, key);
    append_fraction(writer, value);
}

void gp_write_switch(gp_writer *writer, const char *key, bool value) { gp_write_raw(writer, key, value ? "true" : "false"); }

void gp_write_raw(gp_writer *writer, const char *key, const char *json) {
    begin_value(writer, key);
    append(writer, json, strlen(json));
}

static void append_escaped(gp_writer *writer, unsigned char byte) {
    static const char hex[] = "0123456789abcdef";
    if (byte == '"' || byte == '\\') {
        char pair[2] = {'\\', (char)byte};
        append(writer, pair, sizeof pair);
        return;
    }
    char escape[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    append(writer, escape, sizeof escape);
}

void gp_write_text_part(gp_writer *writer, const char *key, const char *value, size_t length) {
    begin_value(writer, key);
    append_byte(writer, '"');
    size_t plain = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)value[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
        append(writer, value + plain, i - plain);
        append_escaped(writer, byte);
        plain = i + 1;
    }
    append(writer, value + plain, length - plain);
    append_byte(writer, '"');
}

void gp_write_text(gp_writer *writer, const char *key, const char *value) {
    gp_write_text_part(writer, key, value, strlen(value));
}

void gp_write_known(gp_writer *writer, const char *key, double value) {
    if (value != 0) gp_write_number(writer, key, value);
}

void gp_write_known_text(gp_writer *writer, const char *key, const char *value) {
    if (value != NULL && value[0] != '\0') gp_write_text(writer, key, value);
}
