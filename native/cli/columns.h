/* columns.h: how many terminal columns a text takes. Chinese characters take two, so byte or character counts would
 * misalign every table. */
#ifndef GP_COLUMNS_H
#define GP_COLUMNS_H

#include <stdint.h>

#include "buffer.h"

/* Reads one character of UTF-8 and returns where the next one starts; an invalid byte reads as U+FFFD. */
const char *gp_next_character(const char *text, uint32_t *character);

/* Columns of a text without line breaks; colour sequences (ESC [ … m) take none. */
int gp_columns(const char *text);

/* Appends `text` padded with blanks to `columns`, flush left or right; a longer text is not cut. */
void gp_pad_right(gp_buffer *buffer, const char *text, int columns);
void gp_pad_left(gp_buffer *buffer, const char *text, int columns);

/* Appends `text` broken at blanks (Chinese: between characters, never before closing punctuation) so that no line
 * passes `width`; lines after the first start with `indent` blanks. `column` is where the first line starts. */
void gp_wrap(gp_buffer *buffer, const char *text, int column, int indent, int width);

#endif
