#include "base/writer.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/quantity.h"

/* Most reports fit the first block; a larger one doubles it. */
#define FIRST_BLOCK_BYTES 16384u

void gp_writer_start(gp_writer *writer) {
    *writer = (gp_writer){.text = malloc(FIRST_BLOCK_BYTES), .capacity = FIRST_BLOCK_BYTES};
    if (writer->text == NULL) *writer = (gp_writer){.failed = true};
}

static bool grow(gp_writer *writer, size_t more) {
    if (writer->failed) return false;
    size_t capacity = writer->capacity;
    while (more >= capacity - writer->length) {
        if (capacity > SIZE_MAX / 2) break;
        capacity *= 2;
    }
    char *text = realloc(writer->text, capacity);
    if (text == NULL || more >= capacity - writer->length) {
        free(text != NULL ? text : writer->text);
        *writer = (gp_writer){.failed = true};
        return false;
    }
    writer->text = text;
    writer->capacity = capacity;
    return true;
}

/* Of a writer that failed the capacity is 0. */
static inline bool reserve(gp_writer *writer, size_t more) {
    return more < writer->capacity - writer->length || grow(writer, more);
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

/* The comma, the key, its quotes and the colon at once. */
static void begin_value(gp_writer *writer, const char *key) {
    size_t length = key != NULL ? strlen(key) : 0;
    if (!reserve(writer, length + 4)) return;
    char *at = writer->text + writer->length;
    if (writer->comma) *at++ = ',';
    writer->comma = true;
    if (key != NULL) {
        *at++ = '"';
        at = (char *)memcpy(at, key, length) + length; /* NOLINT(bugprone-not-null-terminated-result): more follows */
        *at++ = '"';
        *at++ = ':';
    }
    writer->length = (size_t)(at - writer->text);
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

void gp_write_bytes(gp_writer *writer, const char *key, uint64_t value) {
    char text[GP_DECIMAL_BYTES];
    begin_value(writer, key);
    size_t length = gp_decimal_write_bytes(text, value);
    append(writer, text, length);
}

void gp_write_whole(gp_writer *writer, const char *key, int64_t value) {
    char text[GP_DECIMAL_BYTES];
    begin_value(writer, key);
    size_t length = gp_decimal_write_whole(text, value);
    append(writer, text, length);
}

static void append_number(gp_writer *writer, double value) {
    double exact = (double)GP_EXACT_MAX;
    bool whole = value >= -exact && value <= exact && value == (double)(int64_t)value;
    char text[GP_DECIMAL_BYTES];
    size_t length = whole ? gp_decimal_write_whole(text, (int64_t)value) : gp_decimal_write(text, value);
    append(writer, text, length);
}

static bool is_finite(double value) { return value - value == 0; }

void gp_write_number(gp_writer *writer, const char *key, double value) {
    if (!is_finite(value)) return;
    begin_value(writer, key);
    append_number(writer, value);
}

void gp_write_switch(gp_writer *writer, const char *key, bool value) {
    gp_write_raw(writer, key, value ? "true" : "false");
}

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

static bool is_plain(char letter) { return (unsigned char)letter >= 0x20 && letter != '"' && letter != '\\'; }

static size_t plain_length(const char *value, size_t length) {
    size_t plain = 0;
    while (plain < length && is_plain(value[plain])) plain++;
    return plain;
}

static void append_quoted(gp_writer *writer, const char *value, size_t length) {
    append_byte(writer, '"');
    while (length > 0) {
        size_t plain = plain_length(value, length);
        append(writer, value, plain);
        if (plain == length) break;
        append_escaped(writer, (unsigned char)value[plain]);
        value += plain + 1;
        length -= plain + 1;
    }
    append_byte(writer, '"');
}

void gp_write_text_part(gp_writer *writer, const char *key, const char *value, size_t length) {
    begin_value(writer, key);
    append_quoted(writer, value, length);
}

void gp_write_text(gp_writer *writer, const char *key, const char *value) {
    gp_write_text_part(writer, key, value, strlen(value));
}

static void append_tree(gp_writer *writer, const cJSON *tree);

static void append_members(gp_writer *writer, const cJSON *container) {
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, container) {
        if (member != container->child) append_byte(writer, ',');
        if (cJSON_IsObject(container)) {
            append_quoted(writer, member->string, strlen(member->string));
            append_byte(writer, ':');
        }
        append_tree(writer, member);
    }
}

static void append_tree(gp_writer *writer, const cJSON *tree) {
    if (cJSON_IsObject(tree) || cJSON_IsArray(tree)) {
        append_byte(writer, cJSON_IsObject(tree) ? '{' : '[');
        append_members(writer, tree);
        append_byte(writer, cJSON_IsObject(tree) ? '}' : ']');
    } else if (cJSON_IsString(tree)) {
        append_quoted(writer, tree->valuestring, strlen(tree->valuestring));
    } else if (cJSON_IsNumber(tree) && is_finite(tree->valuedouble)) {
        append_number(writer, tree->valuedouble);
    } else {
        const char *word = cJSON_IsTrue(tree) ? "true" : cJSON_IsFalse(tree) ? "false" : "null";
        append(writer, word, strlen(word));
    }
}

void gp_write_tree(gp_writer *writer, const char *key, const cJSON *tree) {
    begin_value(writer, key);
    append_tree(writer, tree);
}

char *gp_tree_text(const cJSON *tree) {
    gp_writer writer;
    gp_writer_start(&writer);
    append_tree(&writer, tree);
    return gp_writer_finish(&writer);
}

void gp_write_known(gp_writer *writer, const char *key, double value) {
    if (value != 0) gp_write_number(writer, key, value);
}

void gp_write_known_text(gp_writer *writer, const char *key, const char *value) {
    if (value != NULL && value[0] != '\0') gp_write_text(writer, key, value);
}
