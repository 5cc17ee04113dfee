/* report_rows.h: rows of a table as objects, told from a table of their members. Private to report_*.c. */
#ifndef GP_REPORT_ROWS_H
#define GP_REPORT_ROWS_H

#include <stddef.h>

#include "base/writer.h"

/* What a member of a row is, and how it is told. All but TEXT and SWITCH are left out when they are unknown. WORDS is a
 * text of words separated by '|', told as a list. */
typedef enum {
    GP_ROW_TEXT, GP_ROW_KNOWN_TEXT, GP_ROW_WORDS, GP_ROW_WHOLE, GP_ROW_REAL, GP_ROW_BYTES, GP_ROW_SWITCH,
    GP_ROW_CONFIDENCE
} gp_row_form;

typedef struct {
    const char *key;
    gp_row_form form;
    size_t offset;
} gp_row_member;

/* A member of the type ROW, and the members of a table, by number. */
#define GP_MEMBER(key, form, field) {key, GP_ROW_##form, offsetof(ROW, field)}
#define GP_COUNT(members) (sizeof(members) / sizeof((members)[0]))

/* The members alone, or as an object of a list. */
void gp_report_members(gp_writer *writer, const void *row, const gp_row_member *members, size_t count);
void gp_report_row(gp_writer *writer, const void *row, const gp_row_member *members, size_t count);
/* A list of words separated by '|'. */
void gp_report_words(gp_writer *writer, const char *key, const char *words);

/* `all` rows of a table that match the filter: write_gpus for `gpu`. */
#define GP_TABLE(table, all) \
    static void write_##table##s(gp_writer *writer, const char *filter) { \
        gp_write_open(writer, #table "s", '['); \
        for (int i = 0; i < gp_catalog_##table##_count(); i++) { \
            const gp_##table##_row *row = gp_catalog_##table(i); \
            if (gp_catalog_##table##_matches(row, filter)) gp_report_row(writer, row, all, GP_COUNT(all)); \
        } \
        gp_write_close(writer, ']'); \
    }

#endif
