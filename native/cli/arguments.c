#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "columns.h"
#include "faults.h"
#include "base/text.h"

static const char *const command_names[GP_COMMAND_COUNT] = {"plan",    "batch", "link",  "rank",    "import",
                                                            "catalog", "explain", "score", "version", "help"};

const char *gp_command_name(gp_command command) {
    return command_names[command];
}

gp_command gp_command_of(const char *name) {
    int command = 0;
    while (command < GP_COMMAND_COUNT && strcmp(command_names[command], name) != 0) command++;
    return (gp_command)command;
}

typedef enum { OPTION_JSON, OPTION_SET, OPTION_MODEL, OPTION_BRIEF, OPTION_VERBOSE, OPTION_UNIT, OPTION_LANG,
               OPTION_FILTER, OPTION_BY, OPTION_WORST, OPTION_COLOR, OPTION_VERSION, OPTION_HELP, OPTION_COUNT } option_id;

#define BIT(command) (1u << (command))
enum { EVERYWHERE = BIT(GP_COMMAND_COUNT) - 1, JOBS = BIT(GP_COMMAND_PLAN) | BIT(GP_COMMAND_LINK) | BIT(GP_COMMAND_RANK),
       VIEWS = BIT(GP_COMMAND_PLAN) | BIT(GP_COMMAND_RANK) | BIT(GP_COMMAND_IMPORT) | BIT(GP_COMMAND_CATALOG) };

typedef struct {
    const char *name;
    char letter;       /* short form, 0 = none */
    const char *value; /* what follows, as the help shows it; NULL = nothing */
    unsigned commands;
} option_row;

static const option_row options[OPTION_COUNT] = {
    [OPTION_JSON] = {"json", 0, NULL, EVERYWHERE},
    [OPTION_SET] = {"set", 's', "KEY=VALUE", JOBS},
    [OPTION_MODEL] = {"model", 'm', "FILE", JOBS},
    [OPTION_BRIEF] = {"brief", 0, NULL, BIT(GP_COMMAND_PLAN) | BIT(GP_COMMAND_BATCH)},
    [OPTION_VERBOSE] = {"verbose", 'v', NULL, VIEWS},
    [OPTION_UNIT] = {"unit", 0, "GiB|GB", VIEWS},
    [OPTION_FILTER] = {"filter", 0, "WORDS", BIT(GP_COMMAND_RANK)},
    [OPTION_BY] = {"by", 0, "group|method", BIT(GP_COMMAND_SCORE)},
    [OPTION_WORST] = {"worst", 0, "N", BIT(GP_COMMAND_SCORE)},
    [OPTION_LANG] = {"lang", 0, "en|zh-Hans", EVERYWHERE},
    [OPTION_COLOR] = {"color", 0, "auto|always|never", EVERYWHERE},
    [OPTION_VERSION] = {"version", 'V', NULL, EVERYWHERE},
    [OPTION_HELP] = {"help", 'h', NULL, EVERYWHERE},
};

typedef enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color_choice;

typedef struct {
    int argc, at;
    char **argv;
    gp_arguments *arguments;
    color_choice color;
    bool command_given, good;
    unsigned seen; /* bits of option_id */
} reader;

static void fault(reader *state, const char *key, const char *value, const char *nearest) {
    gp_fault(&state->arguments->view, key, value, nearest);
    state->good = false;
}

static option_id option_of(const char *name, size_t length) {
    int id = 0;
    while (id < OPTION_COUNT && !gp_text_is(options[id].name, name, length)) id++;
    return (option_id)id;
}

static void unknown_option(reader *state, const char *word, const char *name, size_t length) {
    gp_nearest search;
    gp_nearest_start(&search, name, length);
    for (int id = 0; id < OPTION_COUNT; id++) gp_nearest_offer(&search, options[id].name, strlen(options[id].name));
    char nearest[32] = "";
    if (search.best) snprintf(nearest, sizeof nearest, "--%s", search.best);
    fault(state, "cli.fault.unknown_option", word, nearest);
}

/* A count of rows, "0" to "99999". */
static bool read_count(const char *text, int *count) {
    const size_t length = strlen(text);
    if (length == 0 || length > 5 || strspn(text, "0123456789") != length) return false;
    *count = (int)strtol(text, NULL, 10);
    return true;
}

static void apply_value(reader *state, option_id id, const char *value) {
    gp_view *view = &state->arguments->view;
    bool known = true;
    if (id == OPTION_SET) {
        known = strchr(value, '=') != NULL;
        if (known) state->arguments->settings[state->arguments->setting_count++] = value;
    } else if (id == OPTION_MODEL) {
        state->arguments->models[state->arguments->model_count++] = value;
    } else if (id == OPTION_FILTER) {
        state->arguments->filter = value;
    } else if (id == OPTION_UNIT) {
        view->decimal_units = strcmp(value, "GB") == 0;
        known = view->decimal_units || strcmp(value, "GiB") == 0;
    } else if (id == OPTION_LANG) {
        known = gp_language_parse(value, &view->language);
    } else if (id == OPTION_BY) {
        state->arguments->by = strcmp(value, "method") == 0 ? GP_BY_METHOD : GP_BY_GROUP;
        known = state->arguments->by == GP_BY_METHOD || strcmp(value, "group") == 0;
    } else if (id == OPTION_WORST) {
        known = read_count(value, &state->arguments->worst);
    } else if (id == OPTION_COLOR) {
        state->color = strcmp(value, "always") == 0 ? COLOR_ALWAYS : strcmp(value, "never") == 0 ? COLOR_NEVER
                                                                                              : COLOR_AUTO;
        known = state->color != COLOR_AUTO || strcmp(value, "auto") == 0;
    }
    if (!known) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "--%s=%s", options[id].name, options[id].value);
        fault(state, "cli.fault.bad_value", value, wanted);
    }
}

static void apply_switch(gp_arguments *arguments, option_id id) {
    if (id == OPTION_JSON) arguments->json = true;
    else if (id == OPTION_BRIEF) arguments->brief = true;
    else if (id == OPTION_VERBOSE) arguments->view.verbose = true;
    else if (id == OPTION_HELP) arguments->help = true;
    else if (id == OPTION_VERSION) arguments->command = GP_COMMAND_VERSION;
}

/* One option, `inline_value` being what stood behind its '=' or letter, NULL when nothing did. */
static void read_option(reader *state, option_id id, const char *word, const char *inline_value) {
    state->seen |= 1u << id;
    if (!options[id].value) {
        if (inline_value) fault(state, "cli.fault.no_value", word, "");
        else apply_switch(state->arguments, id);
        return;
    }
    const char *value = inline_value;
    if (!value && state->at < state->argc) value = state->argv[state->at++];
    if (value) apply_value(state, id, value);
    else fault(state, "cli.fault.value_missing", word, options[id].value);
}

static void read_long_option(reader *state, const char *word) {
    const char *name = word + 2;
    const size_t length = strcspn(name, "=");
    const option_id id = option_of(name, length);
    if (id == OPTION_COUNT) unknown_option(state, word, name, length);
    else read_option(state, id, word, name[length] ? name + length + 1 : NULL);
}

static void read_short_option(reader *state, const char *word) {
    int id = 0;
    while (id < OPTION_COUNT && (!options[id].letter || options[id].letter != word[1])) id++;
    if (id == OPTION_COUNT) fault(state, "cli.fault.unknown_option", word, "");
    else read_option(state, (option_id)id, word, word[2] ? word + 2 : NULL);
}

/* True for "seq_len=4096": a field name, then '='. A link ("v=1&…") is no setting. */
static bool is_setting(const char *word) {
    const size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_.");
    return length > 0 && word[length] == '=' && strncmp(word, "v=", 2) != 0;
}

static void read_operand(reader *state, const char *word) {
    gp_arguments *arguments = state->arguments;
    if (!state->command_given) {
        state->command_given = true;
        const gp_command command = gp_command_of(word);
        if (command < GP_COMMAND_COUNT) {
            arguments->command = command;
            return;
        }
        gp_nearest search;
        gp_nearest_start(&search, word, strlen(word));
        for (int i = 0; i < GP_COMMAND_COUNT; i++) {
            gp_nearest_offer(&search, command_names[i], strlen(command_names[i]));
        }
        fault(state, "cli.fault.unknown_command", word, search.best ? search.best : "");
        return;
    }
    const bool takes_settings = (BIT(arguments->command) & JOBS) != 0;
    if (takes_settings && is_setting(word)) arguments->settings[arguments->setting_count++] = word;
    else arguments->operands[arguments->operand_count++] = word;
}

/* Options of another command are faults: silently ignored, they would promise what does not happen. */
static void check_options(reader *state) {
    const gp_command command = state->arguments->command;
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (!(state->seen & 1u << id) || options[id].commands & BIT(command)) continue;
        char name[32];
        snprintf(name, sizeof name, "--%s", options[id].name);
        fault(state, "cli.fault.option_elsewhere", name, command_names[command]);
    }
}

static int terminal_width(void) {
    struct winsize size;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col < 40 ? 40 : size.ws_col > 120 ? 120 : size.ws_col;
    }
    return 80;
}

/* True unless the locale names a character set other than UTF-8. The C locale, usual in containers, names none. */
static bool locale_allows_unicode(void) {
    const char *locale = getenv("LC_ALL");
    if (!locale || !*locale) locale = getenv("LC_CTYPE");
    if (!locale || !*locale) locale = getenv("LANG");
    const char *charset = locale ? strchr(locale, '.') : NULL;
    return !charset || gp_contains_folded(charset, strlen(charset), "utf", 3);
}

static bool wants_color(color_choice choice) {
    const char *no_color = getenv("NO_COLOR"); /* https://no-color.org: set and not empty */
    const char *terminal = getenv("TERM");
    if (choice != COLOR_AUTO) return choice == COLOR_ALWAYS;
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(terminal && strcmp(terminal, "dumb") == 0);
}

/* The language first, so that faults of earlier options are worded in it too. */
static void read_language(int argc, char **argv, gp_view *view) {
    view->language = gp_language_of_locale();
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--lang=", 7) == 0) gp_language_parse(argv[i] + 7, &view->language);
        if (strcmp(argv[i], "--lang") == 0 && i + 1 < argc) gp_language_parse(argv[++i], &view->language);
    }
}

bool gp_arguments_read(int argc, char **argv, gp_arguments *arguments) {
    *arguments = (gp_arguments){.command = GP_COMMAND_HELP};
    arguments->settings = calloc((size_t)argc + 1, sizeof *arguments->settings);
    arguments->operands = calloc((size_t)argc + 1, sizeof *arguments->operands);
    arguments->models = calloc((size_t)argc + 1, sizeof *arguments->models);
    if (!arguments->settings || !arguments->operands || !arguments->models) return false;
    arguments->view.width = terminal_width();
    arguments->view.unicode = locale_allows_unicode();
    read_language(argc, argv, &arguments->view);

    reader state = {argc, 1, argv, arguments, COLOR_AUTO, false, true, 0};
    bool only_operands = false;
    while (state.at < argc) {
        const char *word = argv[state.at++];
        if (only_operands || word[0] != '-' || !word[1]) read_operand(&state, word);
        else if (strcmp(word, "--") == 0) only_operands = true;
        else if (word[1] == '-') read_long_option(&state, word);
        else read_short_option(&state, word);
    }
    if (state.good && !arguments->help) check_options(&state);
    arguments->view.color = wants_color(state.color);
    return state.good;
}

void gp_arguments_release(gp_arguments *arguments) {
    free(arguments->settings);
    free(arguments->operands);
    free(arguments->models);
}

void gp_arguments_options(gp_buffer *buffer, const gp_view *view, gp_command command) {
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (command < GP_COMMAND_COUNT && !(options[id].commands & BIT(command))) continue;
        char name[64];
        const char *value = options[id].value;
        if (options[id].letter) {
            snprintf(name, sizeof name, "  -%c, --%s%s%s", options[id].letter, options[id].name, value ? " " : "",
                     value ? value : "");
        } else {
            snprintf(name, sizeof name, "      --%s%s%s", options[id].name, value ? " " : "", value ? value : "");
        }
        gp_pad_right(buffer, name, 34);
        gp_wrap(buffer, gp_message_of(view->language, "cli.option", options[id].name), 34, 34, view->width);
        gp_buffer_text(buffer, "\n");
    }
}
