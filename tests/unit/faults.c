#include "faults.h"

#include <stdio.h>
#include <string.h>

const char *faults_text(const gp_diagnostics *list) {
    static char text[32768];
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < list->count; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s %s", i > 0 ? "\n" : "",
                                   gp_code_key(list->rows[i].code), list->rows[i].path);
    }
    return text;
}

const char *fault_argument(const gp_diagnostics *list, gp_code code, const char *name) {
    static char number[32];
    for (int i = 0; i < list->count; i++) {
        const gp_diagnostic *row = &list->rows[i];
        for (int j = 0; row->code == code && j < row->argument_count; j++) {
            const gp_argument *argument = &row->arguments[j];
            if (strcmp(argument->name, name) != 0) continue;
            if (argument->kind == GP_ARGUMENT_TEXT) return argument->text;
            snprintf(number, sizeof number, "%.15g", argument->number);
            return number;
        }
    }
    return "";
}
