#include "base/diagnostics.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

static const struct {
    const char *key;
    gp_severity severity;
} codes[GP_CODE_COUNT] = {
#define GP_DIAGNOSTIC(code, severity, key) {key, GP_SEVERITY_##severity},
#include "base/diagnostics.def"
#undef GP_DIAGNOSTIC
};

void gp_diagnostics_clear(gp_diagnostics *list) {
    list->count = 0;
    list->dropped = 0;
}

gp_diagnostic *gp_diagnose(gp_diagnostics *list, gp_code code, const char *path) {
    gp_diagnostic *row = &list->spill;
    if (list->count < GP_DIAGNOSTICS_MAX) {
        row = &list->rows[list->count++];
    } else {
        list->dropped++;
    }
    row->code = code;
    row->argument_count = 0;
    gp_text_copy(row->path, sizeof row->path, path, path == NULL ? 0 : strlen(path));
    return row;
}

gp_diagnostic *gp_diagnose_once(gp_diagnostics *list, gp_code code, const char *path) {
    for (int i = 0; i < list->count; i++) {
        if (list->rows[i].code != code || strcmp(list->rows[i].path, path) != 0) continue;
        list->spill.argument_count = 0;
        return &list->spill;
    }
    return gp_diagnose(list, code, path);
}

static gp_argument *add_argument(gp_diagnostic *row, const char *name, gp_argument_kind kind) {
    if (row->argument_count == GP_ARGUMENTS_MAX) return NULL;
    gp_argument *argument = &row->arguments[row->argument_count++];
    argument->name = name;
    argument->kind = kind;
    argument->number = 0;
    argument->text[0] = '\0';
    return argument;
}

void gp_argue_number(gp_diagnostic *row, const char *name, double value) {
    if (!isfinite(value)) {
        gp_argue_text(row, name, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    gp_argument *argument = add_argument(row, name, GP_ARGUMENT_NUMBER);
    if (argument != NULL) argument->number = value;
}

void gp_argue_text(gp_diagnostic *row, const char *name, const char *value) {
    gp_argument *argument = add_argument(row, name, GP_ARGUMENT_TEXT);
    if (argument == NULL || value == NULL) return;
    gp_text_copy(argument->text, sizeof argument->text, value, strlen(value));
}

const char *gp_code_key(gp_code code) {
    return codes[code].key;
}

gp_severity gp_code_severity(gp_code code) {
    return codes[code].severity;
}

bool gp_has_errors(const gp_diagnostics *list) {
    for (int i = 0; i < list->count; i++) {
        if (codes[list->rows[i].code].severity == GP_SEVERITY_ERROR) return true;
    }
    return false;
}

bool gp_is_faulty(const gp_diagnostics *list, const char *path) {
    size_t length = strlen(path);
    for (int i = 0; i < list->count; i++) {
        const gp_diagnostic *row = &list->rows[i];
        if (codes[row->code].severity != GP_SEVERITY_ERROR || strncmp(row->path, path, length) != 0) continue;
        if (row->path[length] == '\0' || row->path[length] == '.') return true;
    }
    return false;
}
