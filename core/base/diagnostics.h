/* diagnostics.h: what is wrong or worth knowing about a request, as keys and arguments. The core emits no sentences:
 * the words for each code live in web/i18n/ (keys `error.<code>`, `warning.<code>`, `assumption.<code>`). */
#ifndef GP_DIAGNOSTICS_H
#define GP_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every code with the names of its arguments is a row of diagnostics.def. */
typedef enum {
#define GP_DIAGNOSTIC(code, severity, key) GP_CODE_##code,
#include "base/diagnostics.def"
#undef GP_DIAGNOSTIC
    GP_CODE_COUNT
} gp_code;

typedef enum { GP_SEVERITY_ERROR, GP_SEVERITY_WARNING, GP_SEVERITY_ASSUMPTION } gp_severity;

#define GP_DIAGNOSTICS_MAX 96
#define GP_ARGUMENTS_MAX 4
#define GP_PATH_BYTES 96
#define GP_TEXT_BYTES 160

typedef enum { GP_ARGUMENT_NUMBER, GP_ARGUMENT_TEXT } gp_argument_kind;

typedef struct {
    const char *name; /* static */
    gp_argument_kind kind;
    double number;
    char text[GP_TEXT_BYTES]; /* valid UTF-8, cut at a character boundary */
} gp_argument;

typedef struct {
    gp_code code;
    char path[GP_PATH_BYTES]; /* dotted path in the job, "" for the whole request */
    int argument_count;
    gp_argument arguments[GP_ARGUMENTS_MAX];
} gp_diagnostic;

/* A bounded list; beyond GP_DIAGNOSTICS_MAX rows further ones are counted in `dropped` only. */
typedef struct {
    int count;
    int dropped;
    gp_diagnostic rows[GP_DIAGNOSTICS_MAX];
    gp_diagnostic spill; /* written to, never read, when the list is full */
} gp_diagnostics;

/* Empties a list; a new one must be cleared before use. */
void gp_diagnostics_clear(gp_diagnostics *list);
/* Appends a row and returns it for gp_argue_* calls; never NULL (a full list hands out `spill`). */
gp_diagnostic *gp_diagnose(gp_diagnostics *list, gp_code code, const char *path);
/* The same, unless the list holds that code for that path already: faults that two passes can both find. */
gp_diagnostic *gp_diagnose_once(gp_diagnostics *list, gp_code code, const char *path);
/* Adds an argument; at most GP_ARGUMENTS_MAX. A number that is not finite is given as text ("inf", "nan"). Text of any
 * origin is allowed: NULL counts as "", bytes that are not UTF-8 become U+FFFD, long text is cut. */
void gp_argue_number(gp_diagnostic *row, const char *name, double value);
void gp_argue_text(gp_diagnostic *row, const char *name, const char *value);

/* Key of a code as printed in reports: the lower-case name, such as "out_of_range". */
const char *gp_code_key(gp_code code);
gp_severity gp_code_severity(gp_code code);
/* True when the list holds at least one error. */
bool gp_has_errors(const gp_diagnostics *list);
/* True when it holds an error of `path` or of something inside it. */
bool gp_is_faulty(const gp_diagnostics *list, const char *path);

#endif
