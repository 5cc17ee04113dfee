/* score_figures.c: medians, shares and orders over samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "score.h"

static const char *name_of(const gp_sample *sample, gp_score_by by) {
    return by == GP_BY_METHOD ? sample->method : sample->group;
}

bool gp_is_chosen(const gp_sample *sample, const gp_score_choice *choice) {
    if (sample->quantity != choice->quantity) return false;
    return choice->by == GP_BY_NOTHING || strcmp(name_of(sample, choice->by), choice->name) == 0;
}

static int by_number(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(const double *sorted, int count) {
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void set_errors(gp_score_figures *figures, double *errors) {
    int count = figures->answered;
    qsort(errors, (size_t)count, sizeof *errors, by_number);
    figures->bias = median(errors, count);
    for (int i = 0; i < count; i++) errors[i] = fabs(errors[i]);
    qsort(errors, (size_t)count, sizeof *errors, by_number);
    figures->median = median(errors, count);
    figures->p90 = errors[(int)(0.9 * (double)(count - 1))];
}

gp_score_figures gp_score_summary(const gp_score *score, const gp_score_choice *choice) {
    gp_score_figures figures = {0};
    int inside = 0;
    double *errors = malloc(((size_t)score->count + 1) * sizeof *errors);
    if (errors == NULL) return figures;
    for (int i = 0; i < score->count; i++) {
        const gp_sample *sample = &score->samples[i];
        if (!gp_is_chosen(sample, choice)) continue;
        figures.rows++;
        if (!sample->answered) continue;
        errors[figures.answered++] = sample->error;
        figures.ranged += sample->has_range;
        inside += sample->inside;
    }
    if (figures.answered > 0) set_errors(&figures, errors);
    if (figures.ranged > 0) figures.coverage = (double)inside / (double)figures.ranged;
    free(errors);
    return figures;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

const char **gp_score_names(const gp_score *score, int quantity, gp_score_by by) {
    const char **names = calloc((size_t)score->count + 1, sizeof *names);
    if (names == NULL) return NULL;
    int count = 0, kept = 0;
    for (int i = 0; i < score->count; i++)
        if (score->samples[i].quantity == quantity && *name_of(&score->samples[i], by))
            names[count++] = name_of(&score->samples[i], by);
    qsort(names, (size_t)count, sizeof *names, by_name);
    for (int i = 0; i < count; i++)
        if (kept == 0 || strcmp(names[i], names[kept - 1]) != 0) names[kept++] = names[i];
    names[kept] = NULL;
    return names;
}

typedef struct { double error; int index; } ranked;

static int by_falling_error(const void *a, const void *b) {
    const ranked *left = a, *right = b;
    if (left->error != right->error) return left->error < right->error ? 1 : -1;
    return left->index - right->index;
}

int *gp_score_worst(const gp_score *score, int quantity, int most) {
    ranked *order = malloc(((size_t)score->count + 1) * sizeof *order);
    int *indices = malloc(((size_t)score->count + 1) * sizeof *indices), count = 0;
    if (order == NULL || indices == NULL) {
        free(order);
        free(indices);
        return NULL;
    }
    for (int i = 0; i < score->count; i++) {
        const gp_sample *sample = &score->samples[i];
        if (sample->quantity == quantity && sample->answered) order[count++] = (ranked){fabs(sample->error), i};
    }
    qsort(order, (size_t)count, sizeof *order, by_falling_error);
    if (count > most) count = most;
    for (int i = 0; i < count; i++) indices[i] = order[i].index;
    indices[count] = -1;
    free(order);
    return indices;
}
