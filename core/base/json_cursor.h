/* json_cursor.h: walks JSON text in place, without a tree: for headers and indexes with many thousand members. The text
 * must have passed gp_json_scan_file: nothing is checked again. */
#ifndef GP_JSON_CURSOR_H
#define GP_JSON_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At the start of a value, or past the last one. */
typedef struct {
    const char *at, *end;
} gp_json_cursor;

/* Bytes of a text as they stand between the quotes, escapes included. */
typedef struct {
    const char *bytes;
    size_t length;
} gp_json_text;

/* First byte of the value: '{', '[', '"', 't', 'f', 'n', '-' or a digit; '\0' at the end. */
char gp_json_kind(const gp_json_cursor *cursor);
/* Steps into an object or a list; false when the value is neither. */
bool gp_json_enter(gp_json_cursor *cursor);
/* Inside an object: the key of the next member, the cursor at its value; false at the end, which is passed. */
bool gp_json_member(gp_json_cursor *cursor, gp_json_text *key);
/* Inside a list: true when there is another value, the cursor at it; false at the end, which is passed. */
bool gp_json_element(gp_json_cursor *cursor);
/* Passes over the value, whatever it is. */
void gp_json_skip(gp_json_cursor *cursor);
/* The value as a text or as a whole number from 0; passed over either way, false when it is none. */
bool gp_json_read_text(gp_json_cursor *cursor, gp_json_text *text);
bool gp_json_read_whole(gp_json_cursor *cursor, uint64_t *value);
/* The value as any number, infinite beyond the range of doubles and for NaN; passed over either way, false when it is
 * none. */
bool gp_json_read_number(gp_json_cursor *cursor, double *value);

#endif
