/* score.h: predictions against measurements. A row of a file of measurements holds a `job`, what was `measured`, and a
 * `group`; each figure of it that the planner predicts as well becomes a sample of a quantity. */
#ifndef GP_SCORE_H
#define GP_SCORE_H

#include <stdbool.h>

struct cJSON;

typedef struct {
    int quantity;          /* index of gp_quantity_id */
    char *row, *group;     /* id of the row, else which one it was, from 1; "" = in no group; owned */
    char *method;          /* training: the task; serving: the engine; owned */
    bool answered;         /* the report holds the figure */
    bool has_range, inside; /* the measured figure lies in the 90 % range */
    double predicted, measured; /* in one unit: bytes, tokens per second, seconds, tokens, parameters */
    double error;          /* predicted / measured - 1 */
} gp_sample;

typedef enum { GP_VERDICT_FITS, GP_VERDICT_TIGHT, GP_VERDICT_NO, GP_VERDICT_NONE, GP_VERDICT_COUNT } gp_verdict_column;

typedef struct {
    gp_sample *samples;
    int count, capacity;
    int rows, faulty;      /* rows read; rows whose report has errors */
    /* What was said of jobs that ran out of memory [1] and that ran [0]; serving [1] and training [0]. */
    int verdicts[2][2][GP_VERDICT_COUNT];
    bool failed;           /* memory ran out */
} gp_score;

/* "train_memory"; NULL past the last. */
const char *gp_quantity_id(int index);

/* The unit in which files of measurements give a quantity of memory: its bytes, and in *name "GiB" or "MiB"; 1 and "" of what
 * is no memory or is measured in bytes. */
double gp_quantity_unit(int index, const char **name);

/* Takes the samples of one row, given the planner's report on its job. */
void gp_score_add(gp_score *score, const struct cJSON *row, const struct cJSON *report);
void gp_score_release(gp_score *score);

/* Which samples count: one quantity, and one group or method of it where `name` is given. */
typedef enum { GP_BY_NOTHING, GP_BY_GROUP, GP_BY_METHOD } gp_score_by;
typedef struct { int quantity; gp_score_by by; const char *name; } gp_score_choice;
bool gp_is_chosen(const gp_sample *sample, const gp_score_choice *choice);

typedef struct {
    int rows, answered, ranged; /* ranged: answered with a range */
    double median, p90;         /* of |error|: the mean of the middle two, and the value at 0.9 of the way */
    double bias;                /* median error */
    double coverage;            /* share of `ranged` whose range holds what was measured */
} gp_score_figures;
gp_score_figures gp_score_summary(const gp_score *score, const gp_score_choice *choice);

/* Names of the groups or methods of a quantity, in order, each once; NULL-terminated, the texts are the samples'. The
 * caller frees the list. NULL when memory ran out. */
const char **gp_score_names(const gp_score *score, int quantity, gp_score_by by);

/* Samples of a quantity by falling |error|, those without an answer left out, at most `most`: indices, ended by -1.
 * The caller frees them. NULL when memory ran out. */
int *gp_score_worst(const gp_score *score, int quantity, int most);

#endif
