/* json_scan.h: is this text JSON (RFC 8259), and not too much of it? One pass that stores nothing, so that a parser may
 * then be handed only text of bounded depth and size, and faults have exact places. */
#ifndef GP_JSON_SCAN_H
#define GP_JSON_SCAN_H

#include <stddef.h>

#include "base/diagnostics.h"

/* Deepest nesting of objects and lists, most values of any kind, longest number in characters. */
#define GP_JSON_DEPTH_MAX 32
#define GP_JSON_VALUES_MAX 65536
#define GP_JSON_NUMBER_MAX 60

/* GP_CODE_COUNT when the text is one JSON value with nothing but blanks around it, else INVALID_JSON (also for an
 * escaped NUL, which would cut a C string short), TRAILING_TEXT, NESTED_TOO_DEEPLY or TOO_MANY_VALUES. `offset`
 * receives the place of the fault in bytes. UTF-8 is not its concern. */
gp_code gp_json_scan(const char *text, size_t length, size_t *offset);

/* The same for files: with another bound on the values, for texts that are walked (json_cursor.h) and never made into a
 * tree; and with NaN, Infinity and -Infinity, which JSON does not have but Python writes, let pass as values. */
gp_code gp_json_scan_file(const char *text, size_t length, int values_max, size_t *offset);

/* Told each key of the outermost object, as it stands between the quotes. */
typedef void gp_json_key_seen(void *context, const char *key, size_t length);
/* The same for files that their keys tell what they are. */
gp_code gp_json_scan_keys(const char *text, size_t length, int values_max, size_t *offset, gp_json_key_seen *seen,
                          void *context);

#endif
