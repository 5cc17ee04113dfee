/* recipe_parts.h: what the sources recipe*.c share. */
#ifndef GP_RECIPE_PARTS_H
#define GP_RECIPE_PARTS_H

#include <string.h>

#include "layout/recipe.h"

/* Text of a field, "" when it is not known. */
static inline const char *gp_recipe_text(const gp_job *job, gp_field field) {
    const char *text = gp_known(job, field) ? job->settings[field].text : NULL;
    return text != NULL ? text : "";
}

static inline bool gp_begins_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Sets the bits of a stored format by its name; 16 bits for one that is not known. */
void gp_recipe_set_format(const gp_job *job, const char *name, const gp_model *model, gp_recipe *recipe);
/* The fields of training. */
void gp_recipe_training(const gp_job *job, const gp_model *model, gp_recipe *recipe);

#endif
