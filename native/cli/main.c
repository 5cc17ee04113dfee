/* gpuplan: the planner on the command line. It reads what a person gives, asks the core, and prints the report; it
 * computes no figures of its own. */
#include "commands.h"
#include "output.h"

static int run(const gp_arguments *arguments) {
    if (arguments->help) {
        return gp_help_print(&arguments->view,
                             arguments->command == GP_COMMAND_HELP ? GP_COMMAND_COUNT : arguments->command);
    }
    switch (arguments->command) {
    case GP_COMMAND_PLAN: return gp_command_plan(arguments);
    case GP_COMMAND_BATCH: return gp_command_batch(arguments);
    case GP_COMMAND_LINK: return gp_command_link(arguments);
    case GP_COMMAND_RANK: return gp_command_rank(arguments);
    case GP_COMMAND_IMPORT: return gp_command_import(arguments);
    case GP_COMMAND_CATALOG: return gp_command_catalog(arguments);
    case GP_COMMAND_EXPLAIN: return gp_command_explain(arguments);
    case GP_COMMAND_SCORE: return gp_command_score(arguments);
    case GP_COMMAND_VERSION: return gp_command_version(arguments);
    case GP_COMMAND_HELP:
    case GP_COMMAND_COUNT: break;
    }
    return gp_command_help(arguments);
}

int main(int argc, char **argv) {
    gp_output_start();
    gp_arguments arguments;
    const bool good = gp_arguments_read(argc, argv, &arguments);
    const int exit_code = good ? run(&arguments) : GP_EXIT_REQUEST;
    gp_arguments_release(&arguments);
    return exit_code;
}
