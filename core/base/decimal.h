/* decimal.h: numbers as decimal text, in both directions, exactly rounded. The C library's own functions follow the
 * host program's locale and bring a third of their size again into the WebAssembly module; these do neither. */
#ifndef GP_DECIMAL_H
#define GP_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

#define GP_DECIMAL_BYTES 32

/* Writes a finite number with the fewest of 15 or 17 significant digits that give it back, as "%.15g" and "%.17g" of
 * printf would in the C locale. Returns the length; `buffer` takes GP_DECIMAL_BYTES and ends in NUL. */
size_t gp_decimal_write(char *buffer, double value);

/* Writes a whole number; as above. */
size_t gp_decimal_write_whole(char *buffer, int64_t value);
size_t gp_decimal_write_bytes(char *buffer, uint64_t value);

/* Reads a decimal number (JSON's form; a leading '+' and missing digits on one side of the point are accepted) and
 * rounds it to the nearest double, ties to even; beyond the range of doubles it gives infinity or 0. `end` receives the
 * first character that does not belong to it, `text` itself when there is no number. The signature is strtod's, so that
 * cJSON is compiled with it. */
double gp_decimal_read(const char *text, char **end);

#endif
