#include "columns.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

#define REPLACEMENT 0xfffdu

const char *gp_next_character(const char *text, uint32_t *character) {
    const unsigned char first = (unsigned char)*text;
    if (first < 0x80) {
        *character = first;
        return text + (first ? 1 : 0);
    }
    const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (strnlen(text, size) < size || gp_utf8_prefix(text, size) != size) {
        *character = REPLACEMENT;
        return text + 1;
    }
    uint32_t value = first & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) value = value << 6 | ((unsigned char)text[i] & 0x3fu);
    *character = value;
    return text + size;
}

typedef struct {
    uint32_t first, last;
} range;

static bool within(const range *ranges, size_t count, uint32_t character) {
    for (size_t i = 0; i < count; i++) {
        if (character >= ranges[i].first && character <= ranges[i].last) return true;
    }
    return false;
}

/* Blocks whose characters are East Asian Wide or Fullwidth (Unicode Standard Annex 11), as whole blocks. */
static bool is_wide(uint32_t character) {
    static const range wide[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
                                 {0x4e00, 0xa4cf},   {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
                                 {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                                 {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    return character >= 0x1100 && within(wide, sizeof wide / sizeof *wide, character);
}

static bool is_zero_width(uint32_t character) {
    static const range combining[] = {{0x0300, 0x036f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
    return character >= 0x0300 && within(combining, sizeof combining / sizeof *combining, character);
}

static int character_columns(uint32_t character) {
    return is_zero_width(character) ? 0 : is_wide(character) ? 2 : 1;
}

int gp_columns(const char *text) {
    int columns = 0;
    while (*text) {
        if (text[0] == '\033' && text[1] == '[') {
            text += strcspn(text, "m");
            text += *text == 'm';
            continue;
        }
        uint32_t character;
        text = gp_next_character(text, &character);
        columns += character_columns(character);
    }
    return columns;
}

void gp_pad_right(gp_buffer *buffer, const char *text, int columns) {
    gp_buffer_text(buffer, text);
    gp_buffer_repeat(buffer, " ", columns - gp_columns(text));
}

void gp_pad_left(gp_buffer *buffer, const char *text, int columns) {
    gp_buffer_repeat(buffer, " ", columns - gp_columns(text));
    gp_buffer_text(buffer, text);
}

/* Closing punctuation, which must not start a line, and opening punctuation, which must not end one. */
static bool is_closing(uint32_t character) {
    static const range closing[] = {{0x3001, 0x3002}, {0x300d, 0x300d}, {0x300f, 0x300f}, {0xff09, 0xff09},
                                    {0xff0c, 0xff0c}, {0xff1a, 0xff1b}, {0xff1f, 0xff1f}};
    return within(closing, sizeof closing / sizeof *closing, character);
}

static bool is_opening(uint32_t character) {
    return character == 0xff08 || character == 0x300c || character == 0x300e;
}

/* End of the unbreakable piece that starts at `text`: one wide character with what clings to it, or a word. */
static const char *piece_end(const char *text) {
    uint32_t character;
    const char *at = gp_next_character(text, &character);
    uint32_t before = character;
    while (*at && *at != ' ') {
        const char *next = gp_next_character(at, &character);
        const bool glued = is_closing(character) || is_opening(before);
        if (!glued && (is_wide(before) || is_wide(character))) break;
        before = character;
        at = next;
    }
    return at;
}

void gp_wrap(gp_buffer *buffer, const char *text, int column, int indent, int width) {
    bool line_is_empty = true;
    while (*text) {
        const size_t blanks = strspn(text, " ");
        const char *piece = text + blanks;
        const char *end = *piece ? piece_end(piece) : piece;
        gp_buffer scratch = {0};
        gp_buffer_bytes(&scratch, piece, (size_t)(end - piece));
        const int columns = gp_columns(gp_buffer_string(&scratch));
        if (!line_is_empty && column + (int)blanks + columns > width) {
            gp_buffer_text(buffer, "\n");
            gp_buffer_repeat(buffer, " ", indent);
            column = indent;
        } else {
            gp_buffer_repeat(buffer, " ", (int)blanks);
            column += (int)blanks;
        }
        gp_buffer_text(buffer, gp_buffer_string(&scratch));
        gp_buffer_release(&scratch);
        column += columns;
        line_is_empty = false;
        text = end;
    }
}
