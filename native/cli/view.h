/* view.h: how a person wants to read, and numbers as that person reads them. Everything below `gp_view` is words and
 * formatting: the numbers themselves come from reports. */
#ifndef GP_VIEW_H
#define GP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "messages.h"

typedef struct {
    gp_language language;
    bool decimal_units; /* GB (10^9) instead of GiB (2^30) */
    bool color;
    bool unicode;       /* block characters for bars; plain ASCII where the locale names another character set */
    bool verbose;
    int width;          /* columns of the terminal */
} gp_view;

struct cJSON;

/* Style of a piece of text; without colour it is printed bare. */
typedef enum { GP_PLAIN, GP_STRONG, GP_DIM, GP_GOOD, GP_CAREFUL, GP_BAD, GP_ACCENT } gp_style;
void gp_style_start(gp_buffer *buffer, const gp_view *view, gp_style style);
void gp_style_end(gp_buffer *buffer, const gp_view *view, gp_style style);
void gp_styled(gp_buffer *buffer, const gp_view *view, gp_style style, const char *text);

/* "14.6 GiB", "512 MiB", "160 B": the unit follows the size. */
void gp_view_size(gp_buffer *buffer, const gp_view *view, double bytes);
/* "14.62": a size in GiB or GB without the unit, for columns headed by it. */
void gp_view_gigabytes(gp_buffer *buffer, const gp_view *view, double bytes);
const char *gp_view_unit(const gp_view *view);
/* "16,777,216", "0.85": numbers from a thousand on are whole, others have four digits. */
void gp_view_number(gp_buffer *buffer, double value);
/* "6.74 B", "40.0 M": a count of parameters. */
void gp_view_count(gp_buffer *buffer, double value);
/* An argument of a message. By its name: `…_bytes` and `bytes…` are sizes, `params` and `…_params` counts, `bubble` and
 * `efficiency` shares, `…tok_s` and `tokens_per_s` speeds of three digits; a text that a person typed (`value`, `nearest`, `what`) stays as
 * it is, any other is looked up as message `name.text`, then as a field, and else printed as it is. NULL
 * prints nothing. */
void gp_view_argument(gp_buffer *buffer, const gp_view *view, const struct cJSON *argument);

/* Appends a message with its {placeholders} replaced by the members of `arguments` (NULL allowed). The placeholder
 * {field} is the label of `path` and {path} the path itself. A key with the suffix ".nearest" is preferred when
 * `arguments` holds a `nearest` name. A placeholder without argument prints as "?". */
void gp_view_message(gp_buffer *buffer, const gp_view *view, const char *key, const char *path,
                     const struct cJSON *arguments);

/* The value of a field in words: a choice, yes or no, a number with separators, whether written as number or text. */
void gp_view_value(gp_buffer *buffer, const gp_view *view, const char *path, const struct cJSON *value);

/* Label of a dotted path ("sequence length"), the path itself when it has none. */
const char *gp_view_field(const gp_view *view, const char *path);

#endif
