/* text.h: bytes that came from outside: UTF-8, letter case, and the nearest name to a misspelt one. Letters are ASCII
 * letters here; all other characters are compared byte by byte, so nothing depends on a locale. */
#ifndef GP_TEXT_H
#define GP_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the valid UTF-8 prefix of `text` (RFC 3629: no overlong forms, no surrogates, at most U+10FFFF);
 * `length` when all of it is valid. */
size_t gp_utf8_prefix(const char *text, size_t length);

/* Length of the start of `text` without quotes, backslashes and control characters: what stands for itself in JSON. */
size_t gp_json_letters(const char *text, size_t length);

/* Copies `length` bytes into `buffer` of `size` bytes (at least 4) as valid, NUL-terminated UTF-8: an invalid byte
 * becomes U+FFFD, text that does not fit is cut between characters. Returns the length written. */
size_t gp_text_copy(char *buffer, size_t size, const char *text, size_t length);

/* Copies `first` and `second`, one after the other, into `buffer` of `size` bytes (at least 4), cut between characters.
 * Returns the length written. */
size_t gp_text_join(char *buffer, size_t size, const char *first, const char *second);

/* Writes a finite number with the fewest of 15 or 17 digits that give it back; returns the length, as snprintf. */
int gp_text_number(char *buffer, size_t size, double value);

char gp_lower(char letter);
bool gp_is_digit(char letter);
bool gp_is_letter(char letter);
/* Equality of a NUL-terminated text with `length` bytes, exactly or ignoring case. */
bool gp_text_is(const char *text, const char *bytes, size_t length);
bool gp_text_is_folded(const char *text, const char *bytes, size_t length);
/* True when `text` starts with `prefix`, or holds `word` anywhere, ignoring case. */
bool gp_starts_folded(const char *text, size_t length, const char *prefix, size_t prefix_length);
bool gp_contains_folded(const char *text, size_t length, const char *word, size_t word_length);

/* Edits that turn `a` into `b`, ignoring case: insertions, deletions, substitutions and swaps of neighbours count 1
 * each (optimal string alignment). Distances above `limit`, and of texts longer than GP_NAME_BYTES, give limit + 1. */
#define GP_NAME_BYTES 96
int gp_text_distance(const char *a, size_t a_length, const char *b, size_t b_length, int limit);

/* Search for the name nearest to a word: start, offer every known name, read `best`. A name is near when it takes at
 * most one edit per three letters, or holds the word, or is held by it. Among equals one that begins with the word
 * wins, then the first offered. Nothing is near to a word longer than GP_NAME_BYTES, so hostile input costs no time. */
typedef struct {
    const char *word;
    size_t word_length;
    const char *best; /* NULL when nothing was near */
    size_t best_length;
    int best_distance;
    bool best_completes; /* it begins with the word */
    int limit;
} gp_nearest;

void gp_nearest_start(gp_nearest *search, const char *word, size_t word_length);
void gp_nearest_offer(gp_nearest *search, const char *name, size_t length);

#endif
