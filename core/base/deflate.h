/* deflate.h: raw DEFLATE (RFC 1951) for the small texts inside links, in the one form that suits them: a single block
 * with the fixed codes, and a preset dictionary of what configs hold (RFC 1950 section 2.2). Any inflater that takes a
 * dictionary reads it. The same text gives the same bytes everywhere. */
#ifndef GP_DEFLATE_H
#define GP_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>

/* Longest text that is written or read. */
#define GP_DEFLATE_TEXT_MAX 65536

/* The dictionary, NUL-terminated. It belongs to the links of version 1: it never changes. */
extern const char gp_deflate_dictionary[];

/* Packs a text into `packed` of `size` bytes; returns the length, 0 when it does not fit or the text is too long. */
size_t gp_deflate(const char *text, size_t length, unsigned char *packed, size_t size);

/* Unpacks into `text` of `size` bytes and stores the length. False when the bytes are not such a block, refer to what is
 * not there, or need more room. */
bool gp_inflate(const unsigned char *packed, size_t length, char *text, size_t size, size_t *text_length);

#endif
