/* commands.h: one function per command; each returns the exit code. */
#ifndef GP_COMMANDS_H
#define GP_COMMANDS_H

#include "arguments.h"

int gp_command_plan(const gp_arguments *arguments);
int gp_command_batch(const gp_arguments *arguments);
int gp_command_link(const gp_arguments *arguments);
int gp_command_rank(const gp_arguments *arguments);
int gp_command_import(const gp_arguments *arguments);
int gp_command_catalog(const gp_arguments *arguments);
int gp_command_explain(const gp_arguments *arguments);
int gp_command_score(const gp_arguments *arguments);
int gp_command_version(const gp_arguments *arguments);
/* Help of the command named by the operand, or of the program. */
int gp_command_help(const gp_arguments *arguments);
/* Help of one command, GP_COMMAND_COUNT for the program. */
int gp_help_print(const gp_view *view, gp_command command);

#endif
