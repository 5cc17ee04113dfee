/* notes_view.c: warnings, and what the plan rests on. */
#include <stdio.h>
#include <string.h>

#include "cJSON.h"
#include "columns.h"
#include "json.h"
#include "plan_view.h"

/* The arguments of an assumption, its value in words. */
static cJSON *worded_arguments(const gp_view *view, const cJSON *row) {
    cJSON *arguments = cJSON_Duplicate(gp_json_at(row, "args"), true);
    const cJSON *value = gp_json_at(row, "args.value");
    if (!value) return arguments;
    gp_buffer words = {0};
    gp_view_value(&words, view, gp_json_text(row, "path"), value);
    cJSON_ReplaceItemInObjectCaseSensitive(arguments, "value", cJSON_CreateString(gp_buffer_string(&words)));
    gp_buffer_release(&words);
    return arguments;
}

/* "label: sentence" of a diagnostic, wrapped behind a mark. */
static void note(gp_buffer *buffer, const gp_view *view, const char *family, const char *mark, const cJSON *row) {
    char key[96];
    snprintf(key, sizeof key, "%s.%s", family, gp_json_text(row, "code"));
    const char *path = gp_json_text(row, "path");
    gp_buffer text = {0};
    if (*path) {
        gp_buffer_foreign(&text, gp_view_field(view, path));
        gp_buffer_text(&text, gp_message(view->language, "cli.colon"));
    }
    const bool is_assumption = strcmp(family, "assumption") == 0;
    cJSON *worded = is_assumption ? worded_arguments(view, row) : NULL;
    gp_view_message(&text, view, key, path, is_assumption ? worded : gp_json_at(row, "args"));
    cJSON_Delete(worded);
    gp_buffer_text(buffer, mark);
    gp_wrap(buffer, gp_buffer_string(&text), 4, 4, view->width);
    gp_buffer_text(buffer, "\n");
    gp_buffer_release(&text);
}

static void warnings(gp_buffer *buffer, const gp_view *view, const cJSON *rows) {
    if (!rows || !rows->child) return;
    gp_view_heading(buffer, view, "cli.warnings");
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        gp_style_start(buffer, view, GP_CAREFUL);
        gp_buffer_text(buffer, "  ! ");
        gp_style_end(buffer, view, GP_CAREFUL);
        note(buffer, view, "warning", "", row);
    }
}

/* "precision bf16": the short form of an assumption about one field. */
static void short_assumption(gp_buffer *buffer, const gp_view *view, const cJSON *row) {
    const char *path = gp_json_text(row, "path");
    gp_buffer_foreign(buffer, gp_view_field(view, path));
    gp_buffer_text(buffer, " ");
    gp_view_value(buffer, view, path, gp_json_at(row, "args.value"));
}

static bool is_plain_value(const cJSON *row) {
    const char *code = gp_json_text(row, "code");
    return strcmp(code, "default_value") == 0 || strcmp(code, "derived_value") == 0;
}

static void assumptions(gp_buffer *buffer, const gp_view *view, const cJSON *rows) {
    if (!rows || !rows->child) return;
    gp_view_heading(buffer, view, view->verbose ? "cli.assumptions" : "cli.assumptions.short");
    gp_buffer list = {0};
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        if (view->verbose) {
            note(buffer, view, "assumption", "    ", row);
        } else if (is_plain_value(row)) {
            if (list.length > 0) gp_buffer_text(&list, " · ");
            short_assumption(&list, view, row);
        }
    }
    if (list.length > 0) {
        gp_buffer_text(buffer, "  ");
        gp_wrap(buffer, gp_buffer_string(&list), 2, 2, view->width);
        gp_buffer_text(buffer, "\n");
    }
    gp_buffer_release(&list);
    if (view->verbose) return;
    cJSON_ArrayForEach(row, rows) {
        if (!is_plain_value(row) && strcmp(gp_json_text(row, "code"), "solved_value") != 0) {
            note(buffer, view, "assumption", "  ", row);
        }
    }
}

void gp_notes_view(gp_buffer *buffer, const gp_view *view, const cJSON *report) {
    warnings(buffer, view, gp_json_at(report, "warnings"));
    assumptions(buffer, view, gp_json_at(report, "assumptions"));
}
