#include "report/report_rows.h"

#include <string.h>

#include "catalog/catalog.h"

void gp_report_words(gp_writer *writer, const char *key, const char *words) {
    gp_write_open(writer, key, '[');
    while (words[0] != '\0') {
        size_t length = strcspn(words, "|");
        gp_write_text_part(writer, NULL, words, length);
        words += length;
        if (words[0] == '|') words++;
    }
    gp_write_close(writer, ']');
}

static void write_member(gp_writer *writer, const gp_row_member *at, const void *place) {
    static const char *const confidences[] = {"low", "medium", "high"};
    switch (at->form) {
    case GP_ROW_TEXT: gp_write_text(writer, at->key, *(const char *const *)place); break;
    case GP_ROW_KNOWN_TEXT: gp_write_known_text(writer, at->key, *(const char *const *)place); break;
    case GP_ROW_WORDS: gp_report_words(writer, at->key, *(const char *const *)place); break;
    case GP_ROW_WHOLE: gp_write_known(writer, at->key, *(const int *)place); break;
    case GP_ROW_REAL: gp_write_known(writer, at->key, *(const double *)place); break;
    case GP_ROW_BYTES: gp_write_known(writer, at->key, (double)*(const uint64_t *)place); break;
    case GP_ROW_SWITCH: gp_write_switch(writer, at->key, *(const bool *)place); break;
    case GP_ROW_CONFIDENCE: gp_write_text(writer, at->key, confidences[*(const gp_confidence *)place]); break;
    }
}

void gp_report_members(gp_writer *writer, const void *row, const gp_row_member *members, size_t count) {
    for (size_t i = 0; i < count; i++) write_member(writer, &members[i], (const char *)row + members[i].offset);
}

void gp_report_row(gp_writer *writer, const void *row, const gp_row_member *members, size_t count) {
    gp_write_open(writer, NULL, '{');
    gp_report_members(writer, row, members, count);
    gp_write_close(writer, '}');
}
