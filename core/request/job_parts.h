/* job_parts.h: the parts of a job that are not plain fields, shared by the files that read, set and link jobs. */
#ifndef GP_JOB_PARTS_H
#define GP_JOB_PARTS_H

#include <stddef.h>

#include "request/job.h"

typedef enum {
    GP_PART_WHOLE, GP_PART_REAL, GP_PART_SWITCH, GP_PART_TEXT, /* one value, stored in gp_job at `offset` */
    GP_PART_PARAMS,      /* a number or "max" */
    GP_PART_SECTION,     /* an object of fields and parts */
    GP_PART_MODEL,       /* a name, or an object of parts */
    GP_PART_GPU,         /* likewise */
    GP_PART_TARGETS,     /* a text or a list of texts */
    GP_PART_CONFIG,      /* a config.json */
    GP_PART_NOTED,       /* any value, without effect */
    GP_PART_NOTED_OBJECT /* an object, without effect */
} gp_part_kind;

typedef struct {
    const char *path;
    size_t length; /* of path */
    gp_part_kind kind;
    double min, max;  /* WHOLE, REAL and PARAMS */
    const char *link; /* key in plan links, "" where the members have their own */
    size_t offset, size;
} gp_part;

int gp_part_count(void);
const gp_part *gp_part_at(int index);
/* Part or field of a path that need not end in NUL; NULL or GP_FIELD_TOTAL when there is none. */
const gp_part *gp_part_find(const char *path, size_t length);
gp_field gp_field_find(const char *path, size_t length);
/* Index of a choice, ignoring case, or -1. */
int gp_choice_find(gp_field field, const char *text, size_t length);

/* Adds the argument `nearest` for an unknown member `key` of the object at `path` ("" for the job): a key of the same
 * object, else the dotted path of a key elsewhere. */
void gp_argue_nearest_key(gp_diagnostic *row, const char *path, const char *key);
/* Adds a text argument that need not end in NUL. */
void gp_argue_piece(gp_diagnostic *row, const char *name, const char *text, size_t length);

/* Targets of `train.lora.targets`: a GP_TARGET_* set, 0 when none was named. A list or text without a word is an error. */
unsigned gp_targets_read(const struct cJSON *item, const char *path, gp_diagnostics *diagnostics);

/* The job's task as a bit of gp_field_row.tasks, or 0 when it has none. */
int gp_job_task_bit(const struct cJSON *job);
/* Member of a dotted path, or NULL when absent or null. */
const struct cJSON *gp_job_item(const struct cJSON *job, const char *path);
/* Puts `item`, which it takes over, at a dotted path, making the objects on the way. A model's name on the way gives
 * place to an object; a GPU's name becomes the row that the custom device is like. False after an OUT_OF_MEMORY row. */
bool gp_job_put_item(struct cJSON *job, const char *path, struct cJSON *item, gp_diagnostics *diagnostics);
/* Puts the text of a field or part as the type the tables give it; `with_json`: an object or a list may be written as
 * JSON where the grammar has one. False after an error row. */
bool gp_job_put_text(struct cJSON *job, const char *path, const char *text, bool with_json,
                     gp_diagnostics *diagnostics);

/* Path of a key of plan links in a job with that task bit, or NULL: a link key, or a dotted path. */
const char *gp_link_path(const char *key, int task_bit);

#endif
