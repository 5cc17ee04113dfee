#include "base/json_cursor.h"

#include <math.h>

#include "base/decimal.h"
#include "base/text.h"

static void skip_blanks(gp_json_cursor *cursor) {
    while (cursor->at < cursor->end &&
           (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r' || *cursor->at == '\n'))
        cursor->at++;
}

char gp_json_kind(const gp_json_cursor *cursor) {
    if (cursor->at >= cursor->end) return '\0';
    return *cursor->at;
}

/* Passes a mark and the blanks behind it, when it is there. */
static bool take(gp_json_cursor *cursor, char mark) {
    skip_blanks(cursor);
    if (gp_json_kind(cursor) != mark) return false;
    cursor->at++;
    skip_blanks(cursor);
    return true;
}

bool gp_json_enter(gp_json_cursor *cursor) {
    return take(cursor, '{') || take(cursor, '[');
}

bool gp_json_member(gp_json_cursor *cursor, gp_json_text *key) {
    take(cursor, ',');
    if (take(cursor, '}')) return false;
    if (!gp_json_read_text(cursor, key)) return false;
    return take(cursor, ':');
}

bool gp_json_element(gp_json_cursor *cursor) {
    take(cursor, ',');
    return !take(cursor, ']') && gp_json_kind(cursor) != '\0';
}

static void skip_text(gp_json_cursor *cursor) {
    const char *at = cursor->at + 1, *end = cursor->end;
    while (at < end) {
        if (*at != '\\') at += gp_json_letters(at, (size_t)(end - at));
        if (at == end || *at == '"') break;
        at += *at == '\\' && end - at > 1 ? 2 : 1;
    }
    cursor->at = at < end ? at + 1 : end;
}

/* A number, true, false or null. */
static void skip_word(gp_json_cursor *cursor) {
    while (cursor->at < cursor->end && *cursor->at != ',' && *cursor->at != '}' && *cursor->at != ']') cursor->at++;
}

/* Past the brackets that close what is opened here. */
static void skip_inside(gp_json_cursor *cursor) {
    int depth = 0;
    do {
        char letter = *cursor->at;
        if (letter == '"') {
            skip_text(cursor);
            continue;
        }
        if (letter == '{' || letter == '[') depth++;
        if (letter == '}' || letter == ']') depth--;
        cursor->at++;
    } while (depth > 0 && cursor->at < cursor->end);
}

void gp_json_skip(gp_json_cursor *cursor) {
    char kind = gp_json_kind(cursor);
    if (kind == '{' || kind == '[') skip_inside(cursor);
    else if (kind == '"') skip_text(cursor);
    else skip_word(cursor);
}

bool gp_json_read_text(gp_json_cursor *cursor, gp_json_text *text) {
    if (gp_json_kind(cursor) != '"') {
        gp_json_skip(cursor);
        return false;
    }
    text->bytes = cursor->at + 1;
    skip_text(cursor);
    text->length = (size_t)(cursor->at - text->bytes) - 1;
    return true;
}

bool gp_json_read_whole(gp_json_cursor *cursor, uint64_t *value) {
    const char *start = cursor->at;
    gp_json_skip(cursor);
    *value = 0;
    if (start == cursor->at || !gp_is_digit(*start)) return false;
    for (; start < cursor->at && gp_is_digit(*start); start++) {
        uint64_t digit = (uint64_t)(*start - '0');
        if (*value > (UINT64_MAX - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    if (start < cursor->at && *start == '.') {
        start++;
        while (start < cursor->at && *start == '0') start++;
    }
    while (start < cursor->at && (*start == ' ' || *start == '\n' || *start == '\r' || *start == '\t')) start++;
    return start == cursor->at;
}

bool gp_json_read_number(gp_json_cursor *cursor, double *value) {
    const char *start = cursor->at;
    char kind = gp_json_kind(cursor);
    bool word = kind == 'N' || kind == 'I' || (kind == '-' && cursor->end - start > 1 && start[1] == 'I');
    gp_json_skip(cursor);
    *value = INFINITY;
    if (word) return true;
    if (kind != '-' && !gp_is_digit(kind)) return false;
    /* Something always follows the value of a member: the text is not read beyond its end. */
    *value = gp_decimal_read(start, NULL);
    return true;
}
