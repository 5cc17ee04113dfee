/* format_key.h: what is compared when a format's name is looked up: lower case, '-' for '_'. Used at build time and at
 * run time; private to format.c and the catalogue's generator. */
#ifndef GP_FORMAT_KEY_H
#define GP_FORMAT_KEY_H

#define GP_FORMAT_KEY_BYTES 64

/* Writes the key of a name, NUL-terminated and cut to GP_FORMAT_KEY_BYTES - 1. */
void gp_key_of_format(const char *name, char *key);

#endif
