#include "base/text.h"

#include <stdint.h>
#include <string.h>

#include "base/decimal.h"

/* Bytes of the valid character that starts at `text`, 0 when there is none. */
static size_t character_bytes(const unsigned char *text, size_t length) {
    unsigned char lead = text[0];
    if (lead < 0x80) return 1;
    size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || bytes > length) return 0;
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < low || text[1] > high) return 0;
    for (size_t i = 2; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
    }
    return bytes;
}

/* Long texts are passed by eight bytes. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Most text is ASCII. */
static size_t ascii_prefix(const unsigned char *bytes, size_t length) {
    size_t at = 0;
    for (uint64_t word; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        if ((word & EACH(0x80)) != 0) break;
    }
    return at;
}

/* True when a byte is less than `bound`, at most 0x80 (Lamport 1975, "Multiple byte processing with full-word
 * instructions"): the difference borrows from the high bit of a byte whose own is clear. */
static bool holds_less(uint64_t word, uint64_t bound) {
    return ((word - EACH(bound)) & ~word & EACH(0x80)) != 0;
}

size_t gp_json_letters(const char *text, size_t length) {
    size_t at = 0;
    for (uint64_t word; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        if (holds_less(word, 0x20) || holds_less(word ^ EACH('"'), 1) || holds_less(word ^ EACH('\\'), 1)) break;
    }
    while (at < length && text[at] != '"' && text[at] != '\\' && (unsigned char)text[at] >= 0x20) at++;
    return at;
}

size_t gp_utf8_prefix(const char *text, size_t length) {
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0;
    while (at < length) {
        at += ascii_prefix(bytes + at, length - at);
        if (at == length) break;
        size_t step = character_bytes(bytes + at, length - at);
        if (step == 0) break;
        at += step;
    }
    return at;
}

size_t gp_text_copy(char *buffer, size_t size, const char *text, size_t length) {
    static const char replacement[] = "\xef\xbf\xbd";
    const unsigned char *bytes = (const unsigned char *)text;
    size_t from = 0;
    size_t to = 0;
    while (from < length) {
        if (bytes[from] < 0x80 && to + 1 < size) {
            buffer[to++] = text[from++];
            continue;
        }
        size_t step = character_bytes(bytes + from, length - from);
        const char *piece = step == 0 ? replacement : text + from;
        size_t piece_bytes = step == 0 ? sizeof replacement - 1 : step;
        if (piece_bytes >= size - to) break;
        memcpy(buffer + to, piece, piece_bytes);
        to += piece_bytes;
        from += step == 0 ? 1 : step;
    }
    buffer[to] = '\0';
    return to;
}

size_t gp_text_join(char *buffer, size_t size, const char *first, const char *second) {
    size_t length = gp_text_copy(buffer, size, first, strlen(first));
    return length + 4 > size ? length : length + gp_text_copy(buffer + length, size - length, second, strlen(second));
}

int gp_text_number(char *buffer, size_t size, double value) {
    char digits[GP_DECIMAL_BYTES];
    size_t length = gp_decimal_write(digits, value);
    gp_text_copy(buffer, size, digits, length);
    return (int)length;
}

char gp_lower(char letter) {
    if (letter < 'A' || letter > 'Z') return letter;
    return (char)(letter - 'A' + 'a');
}

bool gp_is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

bool gp_is_letter(char letter) {
    char lower = gp_lower(letter);
    return lower >= 'a' && lower <= 'z';
}

bool gp_text_is(const char *text, const char *bytes, size_t length) {
    return strncmp(text, bytes, length) == 0 && text[length] == '\0';
}

static bool same_folded(const char *a, const char *b, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (gp_lower(a[i]) != gp_lower(b[i])) return false;
    }
    return true;
}

bool gp_text_is_folded(const char *text, const char *bytes, size_t length) {
    return strlen(text) == length && same_folded(text, bytes, length);
}

bool gp_starts_folded(const char *text, size_t length, const char *prefix, size_t prefix_length) {
    return prefix_length <= length && same_folded(text, prefix, prefix_length);
}

bool gp_contains_folded(const char *text, size_t length, const char *word, size_t word_length) {
    for (size_t at = 0; at + word_length <= length; at++) {
        if (same_folded(text + at, word, word_length)) return true;
    }
    return false;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

int gp_text_distance(const char *a, size_t a_length, const char *b, size_t b_length, int limit) {
    /* Three rows of the table are enough: a swap looks two rows back. */
    int rows[3][GP_NAME_BYTES + 1];
    if (a_length > GP_NAME_BYTES || b_length > GP_NAME_BYTES) return limit + 1;
    for (size_t j = 0; j <= b_length; j++) rows[0][j] = (int)j;
    for (size_t i = 1; i <= a_length; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3];
        const int *two_above = rows[(i + 1) % 3];
        int best = row[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int cost = gp_lower(a[i - 1]) == gp_lower(b[j - 1]) ? 0 : 1;
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + cost);
            bool swapped = i > 1 && j > 1 && gp_lower(a[i - 1]) == gp_lower(b[j - 2]) &&
                           gp_lower(a[i - 2]) == gp_lower(b[j - 1]);
            if (swapped) row[j] = least(row[j], two_above[j - 2] + 1);
            best = least(best, row[j]);
        }
        /* A swap reaches one row further back, whose best is at most one less. */
        if (best > limit + 1) return limit + 1;
    }
    return least(rows[a_length % 3][b_length], limit + 1);
}

void gp_nearest_start(gp_nearest *search, const char *word, size_t word_length) {
    *search = (gp_nearest){.word = word, .word_length = word_length};
    if (word_length > GP_NAME_BYTES) return;
    search->limit = word_length < 3 ? 1 : (int)((word_length < 24 ? word_length : 24) + 2) / 3;
    search->best_distance = search->limit + 1;
}

void gp_nearest_offer(gp_nearest *search, const char *name, size_t length) {
    bool completes = gp_starts_folded(name, length, search->word, search->word_length);
    bool wins_ties = completes && !search->best_completes && search->best != NULL;
    int limit = search->best_distance - (wins_ties ? 0 : 1);
    if (limit < 0) return;
    int distance = limit + 1;
    size_t gap = length > search->word_length ? length - search->word_length : search->word_length - length;
    if (gap <= (size_t)limit) distance = gp_text_distance(search->word, search->word_length, name, length, limit);
    if (distance > limit && limit == search->limit && length >= 3 && search->word_length >= 3) {
        bool held = gp_contains_folded(name, length, search->word, search->word_length) ||
                    gp_contains_folded(search->word, search->word_length, name, length);
        if (held) distance = search->limit;
    }
    if (distance > limit) return;
    search->best = name;
    search->best_length = length;
    search->best_distance = distance;
    search->best_completes = completes;
}
