#include "request/job.h"

#include <string.h>

#include "base/decimal.h"
#include "request/job_parts.h"
#include "base/text.h"

static const gp_field_row rows[GP_FIELD_TOTAL] = {
#define GP_FIELD(id, path, kind, min, max, solve, tasks, initial, unit, choices, link) \
    {GP_FIELD_##id, path, GP_KIND_##kind, min, max, GP_SOLVE_##solve, GP_TASKS_##tasks, initial, unit, choices, link},
#include "request/fields.def"
#undef GP_FIELD
};

/* Lengths of the paths: comparing them first makes finding a field a walk over one cache line or two. */
static const unsigned char path_lengths[GP_FIELD_TOTAL] = {
#define GP_FIELD(id, path, kind, min, max, solve, tasks, initial, unit, choices, link) sizeof path - 1,
#include "request/fields.def"
#undef GP_FIELD
};

const gp_field_row *gp_field_info(gp_field field) {
    return &rows[field];
}

gp_field gp_field_find(const char *path, size_t length) {
    for (int i = 0; i < GP_FIELD_TOTAL; i++) {
        if (path_lengths[i] == length && memcmp(rows[i].path, path, length) == 0) return (gp_field)i;
    }
    return GP_FIELD_TOTAL;
}

gp_field gp_field_of_path(const char *path) {
    return gp_field_find(path, strlen(path));
}

int gp_choice_count(gp_field field) {
    const char *choices = rows[field].choices;
    if (choices[0] == '\0') return 0;
    int count = 1;
    for (; *choices != '\0'; choices++) count += *choices == '|';
    return count;
}

const char *gp_choice_text(gp_field field, int64_t index, int *length) {
    const char *choice = rows[field].choices;
    *length = 0;
    if (index < 0) return "";
    while (choice != NULL && index > 0) {
        choice = strchr(choice, '|');
        if (choice != NULL) choice++;
        index--;
    }
    if (choice == NULL) return "";
    *length = (int)strcspn(choice, "|");
    return choice;
}

int gp_choice_find(gp_field field, const char *text, size_t length) {
    const char *choice = rows[field].choices;
    for (int index = 0; *choice != '\0'; index++) {
        size_t choice_length = strcspn(choice, "|");
        if (choice_length == length && gp_starts_folded(text, length, choice, choice_length)) return index;
        choice += choice_length;
        if (*choice == '|') choice++;
    }
    return -1;
}

void gp_set_whole(gp_job *job, gp_field field, int64_t value, gp_origin origin) {
    job->settings[field] = (gp_setting){.origin = origin, .whole = value, .real = (double)value};
}

void gp_set_real(gp_job *job, gp_field field, double value, gp_origin origin) {
    job->settings[field] = (gp_setting){.origin = origin, .real = value};
}

static int write_value(const gp_job *job, gp_field field, char *buffer, size_t size) {
    const gp_setting *setting = &job->settings[field];
    int length = 0;
    char digits[GP_DECIMAL_BYTES];
    const char *choice = gp_choice_text(field, setting->whole, &length);
    switch (rows[field].kind) {
    case GP_KIND_WHOLE:
        return (int)gp_text_copy(buffer, size, digits, gp_decimal_write_whole(digits, setting->whole));
    case GP_KIND_REAL:
        return gp_text_number(buffer, size, setting->real);
    case GP_KIND_SWITCH:
        return (int)gp_text_join(buffer, size, setting->whole != 0 ? "true" : "false", "");
    case GP_KIND_CHOICE:
        return (int)gp_text_copy(buffer, size, choice, (size_t)length);
    case GP_KIND_OPEN:
        if (setting->whole >= 0) return (int)gp_text_copy(buffer, size, choice, (size_t)length);
        break;
    case GP_KIND_TEXT:
        break;
    }
    const char *text = setting->text == NULL ? "" : setting->text;
    return (int)gp_text_copy(buffer, size, text, strlen(text));
}

bool gp_weights_are_file(const gp_job *job) {
    const char *weights = job->settings[GP_FIELD_WEIGHTS].text;
    return job->model.file_bytes > 0 && gp_task_of(job) == GP_INFER && weights != NULL &&
           !gp_known(job, GP_FIELD_WEIGHT_BITS) &&
           gp_text_is_folded(job->model.file_weights, weights, strlen(weights));
}

int gp_setting_text(const gp_job *job, gp_field field, char *buffer, int size) {
    gp_origin origin = job->settings[field].origin;
    int length = origin == GP_ABSENT ? (int)gp_text_join(buffer, (size_t)size, "", "")
                 : origin == GP_AUTO ? (int)gp_text_join(buffer, (size_t)size, "auto", "")
                 : origin == GP_MAX  ? (int)gp_text_join(buffer, (size_t)size, "max", "")
                                     : write_value(job, field, buffer, (size_t)size);
    return length < size ? length : size - 1;
}
