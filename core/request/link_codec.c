#include "request/link_codec.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/deflate.h"
#include "base/json_scan.h"
#include "base/text.h"
#include "base/writer.h"

void gp_link_append(gp_link_text *text, const char *bytes, size_t length) {
    if (text->failed) return;
    if (text->length + length + 1 > text->capacity) {
        size_t capacity = 2 * (text->length + length) + 256;
        char *grown = realloc(text->bytes, capacity);
        if (grown == NULL) {
            text->failed = true;
            return;
        }
        text->bytes = grown;
        text->capacity = capacity;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void gp_link_append_escaped(gp_link_text *text, const char *bytes, size_t length) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        char escape[3] = {'%', digits[byte >> 4], digits[byte & 15]};
        bool plain = gp_is_letter(bytes[i]) || gp_is_digit(bytes[i]) || (byte != 0 && strchr("-._~/:,", byte) != NULL);
        if (plain) {
            gp_link_append(text, bytes + i, 1);
        } else if (byte == ' ') {
            gp_link_append(text, "+", 1);
        } else {
            gp_link_append(text, escape, sizeof escape);
        }
    }
}

static int hex_value(char letter) {
    char lower = gp_lower(letter);
    if (gp_is_digit(lower)) return lower - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool gp_link_unescape(const char *bytes, size_t length, char *buffer) {
    size_t to = 0;
    for (size_t at = 0; at < length; at++) {
        char letter = bytes[at];
        if (letter == '+') letter = ' ';
        if (letter == '%') {
            int high = length - at > 2 ? hex_value(bytes[at + 1]) : -1;
            int low = high >= 0 ? hex_value(bytes[at + 2]) : -1;
            if (low < 0 || high + low == 0) return false;
            letter = (char)(high * 16 + low);
            at += 2;
        }
        buffer[to++] = letter;
    }
    buffer[to] = '\0';
    return true;
}

static const char base64url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void append_base64url(gp_link_text *text, const char *bytes, size_t length) {
    for (size_t at = 0; at < length; at += 3) {
        size_t left = length - at;
        if (left > 3) left = 3;
        unsigned group = (unsigned)(unsigned char)bytes[at] << 16;
        if (left > 1) group |= (unsigned)(unsigned char)bytes[at + 1] << 8;
        if (left > 2) group |= (unsigned char)bytes[at + 2];
        char letters[4] = {base64url[group >> 18], base64url[group >> 12 & 63], base64url[group >> 6 & 63],
                           base64url[group & 63]};
        gp_link_append(text, letters, left + 1);
    }
}

/* Bytes of base64url text, NUL-terminated and owned by the caller, or NULL. */
static char *read_base64url(const char *text, size_t *length) {
    size_t letters = strlen(text);
    char *bytes = letters % 4 == 1 ? NULL : malloc(letters / 4 * 3 + 3);
    if (bytes == NULL) return NULL;
    unsigned group = 0;
    int bits = 0;
    *length = 0;
    for (size_t i = 0; i < letters; i++) {
        const char *letter = strchr(base64url, text[i]);
        if (letter == NULL) {
            free(bytes);
            return NULL;
        }
        group = (group << 6 | (unsigned)(letter - base64url)) & 0xffff;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes[(*length)++] = (char)(group >> bits & 0xff);
    }
    bytes[*length] = '\0';
    return bytes;
}

void gp_link_append_json(gp_link_text *text, const cJSON *item) {
    char *json = gp_tree_text(item);
    size_t length = json == NULL ? 0 : strlen(json);
    unsigned char *packed = json == NULL ? NULL : malloc(length + 1);
    if (packed == NULL) {
        free(json);
        text->failed = true;
        return;
    }
    size_t packed_length = gp_deflate(json, length, packed, length);
    bool shorter = packed_length > 0;
    gp_link_append(text, shorter ? "z1." : "j1.", 3);
    append_base64url(text, shorter ? (const char *)packed : json, shorter ? packed_length : length);
    free(packed);
    free(json);
}

/* The text of packed bytes, owned by the caller, or NULL. */
static char *unpack(const char *packed, size_t packed_length, size_t *length) {
    char *text = malloc(GP_DEFLATE_TEXT_MAX + 1);
    if (text == NULL) return NULL;
    if (!gp_inflate((const unsigned char *)packed, packed_length, text, GP_DEFLATE_TEXT_MAX, length)) {
        free(text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
}

cJSON *gp_link_read_json(const char *value, size_t *codec_length) {
    *codec_length = strcspn(value, ".");
    bool packed = strncmp(value, "z1.", 3) == 0;
    if (!packed && strncmp(value, "j1.", 3) != 0) return NULL;
    size_t length = 0, offset = 0;
    char *json = read_base64url(value + 3, &length);
    if (json != NULL && packed) {
        char *text = unpack(json, length, &length);
        free(json);
        json = text;
    }
    if (json == NULL) return NULL;
    bool is_json = gp_utf8_prefix(json, length) == length && gp_json_scan(json, length, &offset) == GP_CODE_COUNT;
    cJSON *item = is_json ? cJSON_ParseWithLength(json, length) : NULL;
    free(json);
    return item;
}
