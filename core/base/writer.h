/* writer.h: JSON text, written straight into one growing buffer. Members appear in the order of the calls, so a report
 * is the same bytes everywhere. A reader of reports relies on two rules kept here: whole numbers are written exactly,
 * and a number that is not finite leaves its member out. */
#ifndef GP_WRITER_H
#define GP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

typedef struct {
    char *text; /* NUL-terminated after gp_writer_finish */
    size_t length, capacity;
    bool comma;  /* the next value follows another one */
    bool failed; /* memory ran out: later calls do nothing */
} gp_writer;

void gp_writer_start(gp_writer *writer);
/* The text, owned by the caller (free), or NULL when memory ran out. The writer is empty afterwards. */
char *gp_writer_finish(gp_writer *writer);

/* `key` is NULL inside lists; keys are the program's own words and need no escapes. */
void gp_write_open(gp_writer *writer, const char *key, char bracket);
void gp_write_close(gp_writer *writer, char bracket);
void gp_write_bytes(gp_writer *writer, const char *key, uint64_t value);
void gp_write_whole(gp_writer *writer, const char *key, int64_t value);
/* Whole values below 2^53 without fraction, others with the fewest of 15 or 17 digits that give the value back. */
void gp_write_number(gp_writer *writer, const char *key, double value);
void gp_write_switch(gp_writer *writer, const char *key, bool value);
/* Valid UTF-8; quotes, backslashes and control characters are escaped. */
void gp_write_text(gp_writer *writer, const char *key, const char *value);
void gp_write_text_part(gp_writer *writer, const char *key, const char *value, size_t length);
/* A parsed value with all that it holds. */
void gp_write_tree(gp_writer *writer, const char *key, const struct cJSON *tree);
/* Its text alone, owned by the caller (free); NULL when memory ran out. */
char *gp_tree_text(const struct cJSON *tree);
/* JSON text as it is. */
void gp_write_raw(gp_writer *writer, const char *key, const char *json);

/* The same, left out when the figure is unknown: 0, or "". */
void gp_write_known(gp_writer *writer, const char *key, double value);
void gp_write_known_text(gp_writer *writer, const char *key, const char *value);

#endif
