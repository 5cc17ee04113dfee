#include "base/json_scan.h"

#include <string.h>

#include "base/text.h"

/* What may come next. */
typedef enum {
    WANT_VALUE, WANT_VALUE_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_COLON, WANT_COMMA_OR_END, WANT_NOTHING
} want;

typedef struct {
    const char *text;
    size_t length, at;
    int depth, values, values_max;
    bool strict;                  /* without the numbers that only Python writes */
    gp_json_key_seen *seen;       /* NULL when nobody asks */
    void *context;
    char open[GP_JSON_DEPTH_MAX]; /* '{' or '[' of each level */
} scanner;

static char peek(const scanner *on, size_t ahead) {
    if (on->at + ahead >= on->length) return '\0';
    return on->text[on->at + ahead];
}

static bool skip_fitting(scanner *on, const char *word, size_t length) {
    bool fits = on->length - on->at >= length && memcmp(on->text + on->at, word, length) == 0;
    if (fits) on->at += length;
    return fits;
}

/* As gp_is_digit, which is no part of this file and so is not put in place. */
static bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

static bool is_blank(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

static void skip_blanks(scanner *on) {
    const char *at = on->text + on->at, *end = on->text + on->length;
    while (at < end && is_blank(*at)) at++;
    on->at = (size_t)(at - on->text);
}

static bool skip_digits(scanner *on) {
    size_t start = on->at;
    while (is_digit(peek(on, 0))) on->at++;
    return on->at > start;
}

static bool skip_number(scanner *on) {
    size_t start = on->at;
    if (peek(on, 0) == '-') on->at++;
    if (peek(on, 0) == '0') {
        on->at++;
    } else if (!skip_digits(on)) {
        return false;
    }
    if (peek(on, 0) == '.') {
        on->at++;
        if (!skip_digits(on)) return false;
    }
    if (peek(on, 0) == 'e' || peek(on, 0) == 'E') {
        on->at++;
        if (peek(on, 0) == '+' || peek(on, 0) == '-') on->at++;
        if (!skip_digits(on)) return false;
    }
    return on->at - start <= GP_JSON_NUMBER_MAX;
}

/* Value of the four hexadecimal digits after "\u", or -1. */
static int unit_at(const scanner *on, size_t ahead) {
    int unit = 0;
    for (size_t i = 0; i < 4; i++) {
        char digit = peek(on, ahead + i);
        if (!is_digit(digit)) digit |= 0x20; /* a small letter of a capital one */
        bool letter = digit >= 'a' && digit <= 'f';
        if (!is_digit(digit) && !letter) return -1;
        unit = unit * 16 + (letter ? digit - 'a' + 10 : digit - '0');
    }
    return unit;
}

/* At a backslash. Surrogates come in pairs. */
static bool skip_escape(scanner *on) {
    char letter = peek(on, 1);
    if (letter != 'u') {
        if (letter == '\0' || strchr("\"\\/bfnrt", letter) == NULL) return false;
        on->at += 2;
        return true;
    }
    int unit = unit_at(on, 2);
    bool high = unit >= 0xd800 && unit < 0xdc00;
    if (unit <= 0 || (unit >= 0xdc00 && unit < 0xe000)) return false;
    if (high) {
        int low = peek(on, 6) == '\\' && peek(on, 7) == 'u' ? unit_at(on, 8) : -1;
        if (low < 0xdc00 || low >= 0xe000) return false;
    }
    on->at += high ? 12 : 6;
    return true;
}

static bool skip_string(scanner *on) {
    on->at++;
    for (;;) {
        /* One escape often follows another. */
        if (peek(on, 0) != '\\') on->at += gp_json_letters(on->text + on->at, on->length - on->at);
        if (on->at == on->length) return false;
        char letter = on->text[on->at];
        if (letter == '"') break;
        if (letter != '\\' || !skip_escape(on)) return false;
    }
    on->at++;
    return true;
}

static bool skip_word(scanner *on) {
    switch (peek(on, 0)) {
    case 't': return skip_fitting(on, "true", 4);
    case 'f': return skip_fitting(on, "false", 5);
    case 'n': return skip_fitting(on, "null", 4);
    case 'N': return !on->strict && skip_fitting(on, "NaN", 3);
    case 'I': return !on->strict && skip_fitting(on, "Infinity", 8);
    case '-': return !on->strict && skip_fitting(on, "-Infinity", 9);
    default: return false;
    }
}

static want after_value(const scanner *on) {
    return on->depth == 0 ? WANT_NOTHING : WANT_COMMA_OR_END;
}

static gp_code scan_value(scanner *on, want *next) {
    char letter = peek(on, 0);
    if (++on->values > on->values_max) return GP_CODE_TOO_MANY_VALUES;
    if (letter == '{' || letter == '[') {
        if (on->depth == GP_JSON_DEPTH_MAX) return GP_CODE_NESTED_TOO_DEEPLY;
        on->open[on->depth++] = letter;
        on->at++;
        *next = letter == '{' ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
        return GP_CODE_COUNT;
    }
    size_t start = on->at;
    bool is_number = is_digit(letter) || (letter == '-' && peek(on, 1) != 'I');
    bool done = letter == '"' ? skip_string(on) : is_number ? skip_number(on) : skip_word(on);
    if (is_number && !done) on->at = start;
    *next = after_value(on);
    return done ? GP_CODE_COUNT : GP_CODE_INVALID_JSON;
}

static bool skip_key(scanner *on) {
    const char *start = on->text + on->at + 1;
    if (peek(on, 0) != '"' || !skip_string(on)) return false;
    if (on->depth == 1 && on->seen != NULL) on->seen(on->context, start, (size_t)(on->text + on->at - start) - 1);
    return true;
}

/* One step: the token at hand against what is wanted. */
static gp_code scan_token(scanner *on, want *next) {
    char letter = peek(on, 0);
    bool may_end = *next == WANT_VALUE_OR_END || *next == WANT_KEY_OR_END || *next == WANT_COMMA_OR_END;
    if (may_end && on->depth > 0 && letter == (on->open[on->depth - 1] == '{' ? '}' : ']')) {
        on->at++;
        on->depth--;
        *next = after_value(on);
        return GP_CODE_COUNT;
    }
    bool fits = false;
    switch (*next) {
    case WANT_VALUE:
    case WANT_VALUE_OR_END: return scan_value(on, next);
    case WANT_KEY:
    case WANT_KEY_OR_END:
        fits = skip_key(on);
        *next = WANT_COLON;
        break;
    case WANT_COLON:
        fits = letter == ':';
        on->at += fits;
        *next = WANT_VALUE;
        break;
    case WANT_COMMA_OR_END:
        fits = letter == ',';
        on->at += fits;
        *next = on->open[on->depth - 1] == '{' ? WANT_KEY : WANT_VALUE;
        break;
    case WANT_NOTHING: return GP_CODE_TRAILING_TEXT;
    }
    return fits ? GP_CODE_COUNT : GP_CODE_INVALID_JSON;
}

static gp_code scan(scanner *on, size_t *offset) {
    want next = WANT_VALUE;
    gp_code fault = GP_CODE_COUNT;
    /* A byte order mark is let pass, as the parser does. */
    skip_fitting(on, "\xef\xbb\xbf", 3);
    skip_blanks(on);
    while (fault == GP_CODE_COUNT && on->at < on->length) {
        fault = scan_token(on, &next);
        if (fault == GP_CODE_COUNT) skip_blanks(on);
    }
    if (fault == GP_CODE_COUNT && next != WANT_NOTHING) fault = GP_CODE_INVALID_JSON;
    *offset = on->at;
    return fault;
}

gp_code gp_json_scan_file(const char *text, size_t length, int values_max, size_t *offset) {
    scanner on = {.text = text, .length = length, .values_max = values_max};
    return scan(&on, offset);
}

gp_code gp_json_scan_keys(const char *text, size_t length, int values_max, size_t *offset, gp_json_key_seen *seen,
                          void *context) {
    scanner on = {.text = text, .length = length, .values_max = values_max, .seen = seen, .context = context};
    return scan(&on, offset);
}

gp_code gp_json_scan(const char *text, size_t length, size_t *offset) {
    scanner on = {.text = text, .length = length, .values_max = GP_JSON_VALUES_MAX, .strict = true};
    return scan(&on, offset);
}
