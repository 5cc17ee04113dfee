/* config_reader.h: typed values of a config.json, each fault a diagnostic at its key's path. Private to config*.c. */
#ifndef GP_CONFIG_READER_H
#define GP_CONFIG_READER_H

#include "base/diagnostics.h"
#include "config/shape.h"

struct cJSON;

typedef struct {
    const struct cJSON *object;
    const char *path; /* of the object, "model.config"; "" for the outermost */
    gp_diagnostics *diagnostics;
    bool usable; /* false after the first fault */
    bool inside; /* a part of another config */
} gp_config_reader;

/* `fallback` of a dimension that must be given. */
enum { GP_REQUIRED = -1 };

/* Whole number under the first of `keys` (separated by '|') that is present and not null, minimum … GP_DIMENSION_MAX;
 * `fallback` when there is none, where GP_REQUIRED makes that an INCOMPLETE_MODEL. A faulty value gives `minimum`. */
int64_t gp_config_whole(gp_config_reader *reader, const char *keys, int64_t minimum, int64_t fallback);
/* The same, minimum … maximum. */
int64_t gp_config_within(gp_config_reader *reader, const char *keys, int64_t minimum, int64_t maximum,
                         int64_t fallback);
/* true or false under `key`; `fallback` when absent or null. */
bool gp_config_switch(gp_config_reader *reader, const char *key, bool fallback);
/* Number under `key`, minimum … maximum; `fallback` when absent or null. */
double gp_config_number(gp_config_reader *reader, const char *key, double minimum, double maximum, double fallback);
/* Text under `key`, or NULL when absent, null or not a text (a fault). */
const char *gp_config_text(gp_config_reader *reader, const char *key);
/* Value under `key` unless it is null. */
const struct cJSON *gp_config_item(const gp_config_reader *reader, const char *key);
/* List under `key`, or NULL when absent, null or no list (a fault). */
const struct cJSON *gp_config_list(gp_config_reader *reader, const char *key);
/* Each layer's whole number, minimum … maximum, from the list of `count` under `key`; false when there is none, or after a
 * fault. */
bool gp_config_numbers(gp_config_reader *reader, const char *key, int64_t minimum, int64_t maximum, int64_t count,
                       int64_t *values);
/* A value that must be an object, where it is present. */
void gp_config_check_object(gp_config_reader *reader, const char *key);
/* Reader of the object under `key`; its object is NULL when absent. */
gp_config_reader gp_config_inside(gp_config_reader *reader, const char *key, char *path);

/* INCONSISTENT_MODEL: a number that does not agree with the rest of the config. */
void gp_config_inconsistent(gp_config_reader *reader, const char *key, double value);
/* Fault rows of one value: OUT_OF_RANGE, and WRONG_TYPE with a word of the messages' group `expected`. */
void gp_config_out_of_range(gp_config_reader *reader, const char *key, double value, double minimum, double maximum);
void gp_config_wrong_type(gp_config_reader *reader, const char *key, const char *expected);
/* Row for a fault at `key` ("" for the object itself); the reader is no longer usable. */
gp_diagnostic *gp_config_fault(gp_config_reader *reader, gp_code code, const char *key);
/* Row about a value at `key` that is no fault. */
gp_diagnostic *gp_config_note(const gp_config_reader *reader, gp_code code, const char *key);
/* Row for a warning at `key`. */
gp_diagnostic *gp_config_warn(gp_config_reader *reader, gp_code code, const char *key);
/* Records that this version does not know `feature` (UNSUPPORTED_ARCHITECTURE at the key, or at the object for ""). */
void gp_config_unsupported(gp_config_reader *reader, const char *key, const char *feature);

#endif
