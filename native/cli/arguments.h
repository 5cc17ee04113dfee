/* arguments.h: the command line, read once. One table row per option drives parsing and the help texts. */
#ifndef GP_ARGUMENTS_H
#define GP_ARGUMENTS_H

#include <stdbool.h>

#include "score.h"
#include "view.h"

typedef enum {
    GP_COMMAND_PLAN, GP_COMMAND_BATCH, GP_COMMAND_LINK, GP_COMMAND_RANK, GP_COMMAND_IMPORT, GP_COMMAND_CATALOG,
    GP_COMMAND_EXPLAIN, GP_COMMAND_SCORE, GP_COMMAND_VERSION, GP_COMMAND_HELP, GP_COMMAND_COUNT
} gp_command;

typedef struct {
    gp_command command;
    gp_view view;
    bool json, brief, help;
    const char *filter;    /* words that rows of a list must hold, NULL = all; argv's */
    gp_score_by by;        /* how scores are divided: nothing means by group and by method */
    int worst;             /* rows shown of each quantity */
    int setting_count, operand_count, model_count;
    const char **settings; /* key=value, in order; owned, the texts are argv's */
    const char **operands; /* everything else; owned */
    const char **models;   /* files given by --model; owned */
} gp_arguments;

/* Reads the command line and the environment. Faults are printed, one line each; returns false then. `arguments` must
 * be released either way and holds a usable view even after faults. */
bool gp_arguments_read(int argc, char **argv, gp_arguments *arguments);
void gp_arguments_release(gp_arguments *arguments);

const char *gp_command_name(gp_command command);
/* Command of a name, or GP_COMMAND_COUNT. */
gp_command gp_command_of(const char *name);

/* Appends the option list of a command, or of all for GP_COMMAND_COUNT, as aligned rows. */
void gp_arguments_options(gp_buffer *buffer, const gp_view *view, gp_command command);

#endif
